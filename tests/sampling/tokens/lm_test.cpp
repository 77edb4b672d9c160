#include <doctest/doctest.h>

#include "sampling/plans/packed_sampler.h"
#include "sampling/shown.h"
#include "tests/sampling/tokens/text_rows.h"

namespace flowtrain::lm_test {
namespace {

using namespace testing;

constexpr std::int64_t none = -100;
const std::string end_of_text = "<|endoftext|>";

std::string refusal_of(const std::string& as, const Values& values) {
  try {
    transform_of(as, values);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("lm puts beside each token of a text the one that follows, and the bytes that it stands for") {
  const auto lm = transform_of("lm", {{"max", std::int64_t{5}}, {"end", end_of_text}, {"bytes", true}});
  const auto fields = lm->fields();
  REQUIRE(fields.size() == 3);
  CHECK(fields[0].name == "tokens");
  CHECK(fields[1].name == "label");
  CHECK(fields[2].name == "label_bytes");
  CHECK(fields[1].values == 257);
  for (auto& field : fields) {
    CHECK(field.free_axes == 1);
    CHECK(field.shape == Row64{5});
  }
  CHECK(rows_of(*lm, TextRecord().text("txt", "abc").record(), 5) ==
        std::vector<Row64>{{97, 98, 99, 0, 0}, {98, 99, 256, none, none}, {1, 1, 0, 0, 0}});
  CHECK(length_of(*lm, TextRecord().text("txt", "abc").record()) == 3);
  CHECK(length_of(*lm, TextRecord().outline("txt", 3).record()) == 3);
  CHECK(length_of(*lm, TextRecord().outline("txt", 100).record()) == 5);
}

TEST_CASE("lm cuts a text at max + 1 tokens, and puts no end where the text goes on") {
  const auto lm = transform_of("lm", {{"max", std::int64_t{3}}, {"end", end_of_text}});
  CHECK(rows_of(*lm, TextRecord().text("txt", "abc").record(), 3) == std::vector<Row64>{{97, 98, 99}, {98, 99, 256}});
  CHECK(rows_of(*lm, TextRecord().text("txt", "abcd").record(), 3) == std::vector<Row64>{{97, 98, 99}, {98, 99, 100}});
  const auto skips = transform_of("lm", {{"max", std::int64_t{3}}, {"longer", std::string("skip")}});
  CHECK(length_of(*skips, TextRecord().text("txt", "abcd").record()) == 3);
  CHECK_THROWS_WITH_AS(length_of(*skips, TextRecord().text("txt", "abcde").record()),
                       "it has 4 tokens, more than max = 3", SampleError);
}

TEST_CASE("a text of fewer than 2 tokens is a damaged record of lm") {
  const auto lm = transform_of("lm", {{"max", std::int64_t{3}}});
  CHECK_THROWS_WITH_AS(length_of(*lm, TextRecord().text("txt", "a").record()), "it has 1 token, but 'lm' needs 2",
                       SampleError);
  CHECK_THROWS_AS(rows_of(*lm, TextRecord().text("txt", "").record(), 3), SampleError);
}

TEST_CASE("lm makes rows of N from windows of N + 1 stored ids") {
  const std::vector<std::int32_t> ids{5, 6, 7, 8, 9};
  const std::vector<std::int64_t> longs{5, 6, 7};
  const auto lm =
      transform_of("lm", {{"from", std::string("ids")}, {"max", std::int64_t{4}}, {"vocabulary", std::int64_t{10}}});
  CHECK(lm->fields()[0].values == 10);
  CHECK(length_of(*lm, TextRecord().ids("ids", ids).record()) == 4);
  CHECK(rows_of(*lm, TextRecord().ids("ids", ids).record(), 4) == std::vector<Row64>{{5, 6, 7, 8}, {6, 7, 8, 9}});
  const auto of_longs = transform_of("lm", {{"from", std::string("longs")}, {"max", std::int64_t{4}}});
  CHECK(of_longs->fields()[0].values == 0);
  CHECK(rows_of(*of_longs, TextRecord().ids("longs", longs).record(), 3) ==
        std::vector<Row64>{{5, 6, 0}, {6, 7, none}});
  const std::vector<std::int32_t> beyond{5, 10};
  CHECK_THROWS_WITH_AS(rows_of(*lm, TextRecord().ids("ids", beyond).record(), 1),
                       "it has the id 10, but ids are from 0 to 9", SampleError);
  const std::vector<std::int64_t> negative{5, -1};
  CHECK_THROWS_AS(rows_of(*of_longs, TextRecord().ids("longs", negative).record(), 1), SampleError);
}

TEST_CASE("stored ids take the tokens and the vocabulary of a tokenizer, and without one neither") {
  const std::vector<std::int32_t> ids{97, 98};
  const Values of_ids{{"from", std::string("ids")}, {"max", std::int64_t{4}}};
  Values with = of_ids;
  with.insert(with.end(), {{"tokenizer", std::string("bytes")}, {"end", end_of_text}});
  const auto tokens = transform_of("tokens", with);
  CHECK(tokens->fields()[0].values == 257);
  CHECK(rows_of(*tokens, TextRecord().ids("ids", ids).record(), 4) == std::vector<Row64>{{97, 98, 256, 0}});
  with = of_ids;
  with.emplace_back("end", end_of_text);
  CHECK(refusal_of("lm", with).find("field.end: only a tokenizer knows its special tokens") != std::string::npos);
  with.back() = {"bytes", true};
  CHECK(refusal_of("lm", with).find("field.bytes: only a tokenizer knows the bytes of an id") != std::string::npos);
  CHECK(refusal_of("lm", {{"max", std::int64_t{4}}, {"vocabulary", std::int64_t{9}}})
            .find("field.vocabulary: the tokenizer has 257 ids") != std::string::npos);
  CHECK(refusal_of("lm", {{"from", std::string("reals")}, {"max", std::int64_t{4}}})
            .find("'lm' takes of arrays those of ids: i32 or i64 of one axis") != std::string::npos);
  CHECK(refusal_of("masked_lm", of_ids).find("field.tokenizer: must be given") != std::string::npos);
}

TEST_CASE("the bytes of labels sum up to those of the text behind its first token") {
  const TempFolder folder;
  const auto pairs = folder.write("pairs.json", byte_pairs(false));
  const auto lm = transform_of("lm", {{"max", std::int64_t{8}}, {"bytes", true}, {"tokenizer", pairs.string()}});
  CHECK(rows_of(*lm, TextRecord().text("txt", "Hello world a").record(), 2) ==
        std::vector<Row64>{{12, 17}, {17, 19}, {6, 2}});
  const auto begun = transform_of(
      "lm", {{"max", std::int64_t{8}}, {"bytes", true}, {"begin", std::string("<s>")}, {"tokenizer", pairs.string()}});
  CHECK(rows_of(*begun, TextRecord().text("txt", "Hello world a").record(), 3) ==
        std::vector<Row64>{{0, 12, 17}, {12, 17, 19}, {5, 6, 2}});
  const auto pieces = folder.write("pieces.json", word_pieces());
  const auto words = transform_of(
      "lm", {{"max", std::int64_t{8}}, {"bytes", true}, {"add_special", true}, {"tokenizer", pieces.string()}});
  CHECK(rows_of(*words, TextRecord().text("txt", "the dog jumps").record(), 5) ==
        std::vector<Row64>{{2, 5, 7, 8, 9}, {5, 7, 8, 9, 3}, {3, 4, 5, 1, 0}});
}

TEST_CASE("ids are shown as the pieces of a text, and labels as the text that follows") {
  const TempFolder folder;
  const auto pieces = folder.write("pieces.json", word_pieces());
  const auto lm = transform_of("lm", {{"max", std::int64_t{9}}, {"add_special", true}, {"tokenizer", pieces.string()}});
  const auto rows = rows_of(*lm, TextRecord().text("txt", "The dog jumps").record(), 7);
  const auto shown = [&](std::size_t field) {
    Field stored = stored_shape(lm->fields()[field], Row64{7});
    return show(stored, std::as_bytes(std::span(rows[field]))).text;
  };
  CHECK(shown(0) == "[CLS]|the| dog| jump|s|[PAD]|[PAD]");
  CHECK(shown(1) == "the| dog| jump|s|[SEP]");
  const auto bytes = transform_of("tokens", {{"max", std::int64_t{9}}, {"end", end_of_text}});
  const auto row = rows_of(*bytes, TextRecord().text("txt", "caf\u00e9").record(), 6);
  CHECK(show(stored_shape(bytes->fields()[0], Row64{6}), std::as_bytes(std::span(row[0]))).text ==
        "caf\u00e9<|endoftext|>");
}

TEST_CASE("the rows of lm have one length, and are packed with their labels") {
  const auto& entry = samplers().at("fields");
  const std::vector<Settings> fields{table_of("lm", {{"max", std::int64_t{6}}, {"bytes", true}})};
  const SamplerInput input{.dataset = text_forms(), .fields = fields};
  auto sampler = entry.make(Settings("sampler", entry.keys), input);
  std::vector<std::string> names;
  for (auto& field : sampler->fields()) names.push_back(field.name);
  CHECK(names == std::vector<std::string>{"tokens", "label", "label_bytes", "tokens_length"});

  sampler = with_packed_rows(std::move(sampler));
  std::vector<Row64> longs(2, Row64(6, 7));
  std::vector<std::vector<std::int32_t>> ints(3, std::vector<std::int32_t>(6, 7));
  const auto put = [&](std::size_t begin, std::int64_t extent, std::string_view text, std::int32_t segment) {
    std::vector<std::byte*> starts;
    for (auto& row : longs) starts.push_back(reinterpret_cast<std::byte*>(row.data() + begin));
    for (auto& row : ints) starts.push_back(reinterpret_cast<std::byte*>(row.data() + begin));
    Stream random(1, Purpose::sample, 0);
    sampler->sample(TextRecord().text("txt", text).record(), random, Row(starts, {&extent, 1}, segment));
  };
  put(0, 2, "abc", 1);
  put(2, 4, "xyz", 2);
  CHECK(longs == std::vector<Row64>{{97, 98, 120, 121, 0, 0}, {98, 99, 121, 122, none, none}});
  CHECK(ints == std::vector<std::vector<std::int32_t>>{{1, 1, 1, 1, 0, 0}, {0, 1, 0, 1, 0, 0}, {1, 1, 2, 2, 0, 0}});
}

}  // namespace flowtrain::lm_test
