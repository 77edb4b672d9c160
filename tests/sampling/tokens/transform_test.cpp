#include <doctest/doctest.h>

#include <cstring>

#include "sampling/core/registry.h"
#include "sampling/core/warning.h"
#include "sampling/transform.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::transform_test {
namespace {

const PartForm text_form{"txt", Encoding::text};

std::unique_ptr<Transform> tokens(const std::vector<std::pair<std::string, Value>>& values,
                                  const PartForm& from = text_form, const std::string& name = "tokens") {
  const auto& entry = transforms().at("tokens");
  auto keys = with_name(entry);
  keys.push_back({"from", Kind::text, std::string("txt"), "the part"});
  keys.push_back({"as", Kind::text, std::string("tokens"), "the transform"});
  static const MemoryDataset dataset({});
  return entry.make(settings_for(keys, values, "field"), {.dataset = dataset, .name = name, .from = from});
}

/// A record of one text, or of its outline.
struct TextRecord {
  explicit TextRecord(std::string_view text, bool outline = false) : shape{static_cast<std::int64_t>(text.size())} {
    part.name = "txt";
    part.encoding = Encoding::text;
    if (outline)
      part.shape = shape;
    else
      part.bytes = std::as_bytes(std::span(text));
    record.parts = {&part, 1};
  }
  std::array<std::int64_t, 1> shape;
  Part part;
  Record record;
};

std::vector<std::int64_t> made(const Transform& transform, std::string_view text, std::int64_t extent) {
  const TextRecord one(text);
  std::vector<std::int64_t> row(static_cast<std::size_t>(extent));
  std::byte* const to = std::as_writable_bytes(std::span(row)).data();
  transform.make(one.record, Stream(1, Purpose::sample, 3), Row({&to, 1}, {&extent, 1}));
  return row;
}

std::int64_t measured(const Transform& transform, std::string_view text, bool outline = false) {
  const TextRecord one(text, outline);
  std::int64_t extent = 0;
  transform.measure(one.record, {&extent, 1});
  return extent;
}

}  // namespace

TEST_CASE("the transform tokens makes ids of a text, with its special tokens, and fills what is left") {
  const auto transform =
      tokens({{"max", std::int64_t{6}}, {"end", std::string("<|endoftext|>")}, {"fill", std::int64_t{-1}}});
  const Field field = transform->fields().at(0);
  CHECK(field.dtype == DType::i64);
  CHECK(field.shape == std::vector<std::int64_t>{6});
  CHECK(field.free_axes == 1);
  CHECK(made(*transform, "abc", 6) == std::vector<std::int64_t>{97, 98, 99, 256, -1, -1});
  CHECK(made(*transform, "abcdefghi", 6) == std::vector<std::int64_t>{97, 98, 99, 100, 101, 256});
  CHECK(made(*transform, "", 1) == std::vector<std::int64_t>{256});
  CHECK(measured(*transform, "abc") == 4);
  CHECK(measured(*transform, "abcdefghi") == 6);
}

TEST_CASE("lengths of bytes are known from outlines, those of other tokenizers are not") {
  CHECK(measured(*tokens({{"max", std::int64_t{9}}}), "abc", true) == 3);
  CHECK(measured(*tokens({{"max", std::int64_t{9}}, {"special_text", true}}), "abc", true) == unknown_extent);
}

TEST_CASE("a text that is longer than max is cut, or its record is damaged") {
  CHECK(made(*tokens({{"max", std::int64_t{2}}}), "abc", 2) == std::vector<std::int64_t>{97, 98});
  const auto skips = tokens({{"max", std::int64_t{2}}, {"longer", std::string("skip")}});
  CHECK_THROWS_WITH_AS(measured(*skips, "abc"), "it has 3 tokens, more than max = 2", SampleError);
}

TEST_CASE("a row has room for a text beside its special tokens") {
  const std::string end = "<|endoftext|>";
  CHECK_THROWS_WITH_AS(tokens({{"max", std::int64_t{1}}, {"end", end}}),
                       doctest::Contains("field.max: it leaves no room for a text"), UserError);
  CHECK(made(*tokens({{"max", std::int64_t{2}}, {"end", end}}), "abc", 2) == std::vector<std::int64_t>{97, 256});
}

TEST_CASE("the first text that is cut is told, unless the configuration says so, and each tenth power of them") {
  static std::vector<std::string> warnings;
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const auto cuts = tokens({{"max", std::int64_t{2}}});
  for (const auto* const text : {"ab", "abc", "abcd"}) made(*cuts, text, 2);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("field.max: texts of more than 2 tokens are cut") != std::string::npos);
  const auto wanted = tokens({{"max", std::int64_t{2}}, {"longer", std::string("cut")}});
  for (int i = 0; i < 105; ++i) made(*wanted, i % 2 == 0 ? "abc" : "ab", 2);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1].ends_with("field.max: texts of more than 2 tokens were cut 10 times"));
  for (int i = 0; i < 47; ++i) made(*wanted, "abc", 2);
  set_warning_sink(nullptr);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[2].find("cut 100 times") != std::string::npos);
}

TEST_CASE("texts that are empty are told, except as labels of predictions") {
  static std::vector<std::string> warnings;
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  for (const char* const name : {"text", "label"}) {
    warnings.clear();
    const auto made_of = tokens({{"max", std::int64_t{2}}, {"fill", std::int64_t{-100}}}, text_form, name);
    for (int i = 0; i < 20; ++i) made(*made_of, i % 2 == 0 ? "ab" : "", 2);
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].find("field.from: there are records whose part 'txt' is empty or missing") != std::string::npos);
    CHECK(warnings[1].ends_with("field.from: the part 'txt' was empty or missing 10 times"));
  }
  set_warning_sink(nullptr);
}

TEST_CASE("the end of a line behind a transcript is told") {
  static std::vector<std::string> warnings;
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  made(*tokens({{"max", std::int64_t{4}}}, text_form, "label"), "ab", 4);
  made(*tokens({{"max", std::int64_t{4}}}), "ab\n", 4);
  CHECK(warnings.empty());
  made(*tokens({{"max", std::int64_t{4}}}, text_form, "label"), "ab\n", 4);
  set_warning_sink(nullptr);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("with the end of a line behind them") != std::string::npos);
}

TEST_CASE("the transform tokens refuses a special token that the tokenizer lacks, and parts that are no text") {
  CHECK_THROWS_WITH_AS(tokens({{"max", std::int64_t{2}}, {"end", std::string("</s>")}}),
                       doctest::Contains("field.end: the tokenizer has no special token '</s>'"), UserError);
  CHECK_THROWS_AS(tokens({{"max", std::int64_t{2}}}, {"image", Encoding::image}), UserError);
  PartForm numbers{"text", Encoding::array};  // a column of digits
  numbers.dtype = DType::i64;
  const auto refused = failure_of([&] { tokens({{"max", std::int64_t{2}}}, numbers); });
  CHECK(refused.hint().find("write a table of JSON lines, with quotes around each text") != std::string::npos);
}

}  // namespace flowtrain::transform_test
