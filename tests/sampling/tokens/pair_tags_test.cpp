// The expected ids and types are those of Hugging Face's tokenizers 0.23.3 for the same files.
#include <doctest/doctest.h>

#include "sampling/core/warning.h"
#include "sampling/field_parts.h"
#include "sampling/shown.h"
#include "sampling/transforms/text_ids.h"
#include "tests/sampling/tokens/text_rows.h"

namespace flowtrain::pair_tags_test {
namespace {

using namespace testing;

constexpr std::int64_t none = -100;
const char* const first = "The dog jumps over.";
const char* const second = "A brown fox jumped over the newer dog";

std::vector<Row64> pair_of(const std::string& a, const std::string& b, std::int64_t max,
                           const std::string& file = word_pieces()) {
  const TempFolder folder;
  const auto pair = transform_of(
      "pair",
      {{"second", std::string("more")}, {"max", max}, {"tokenizer", folder.write("tokenizer.json", file).string()}});
  TextRecord record;
  record.text("txt", a).text("more", b);
  return rows_of(*pair, record.record(), length_of(*pair, record.record()));
}

const std::vector<std::string> tags{"O", "B-LOC", "I-LOC", "B-X", "I-X"};

std::unique_ptr<Transform> tags_of(const std::string& file, std::int64_t max = 20, Values more = {}) {
  const TempFolder folder;
  more.insert(more.end(), {{"max", max},
                           {"tags_from", std::string("tag")},
                           {"tags", tags},
                           {"tokenizer", folder.write("tokenizer.json", file).string()}});
  return transform_of("tags", more);
}

std::vector<Row64> tagged(const Transform& transform, std::string_view words, std::string_view tag) {
  TextRecord record;
  record.text("txt", words).text("tag", tag);
  return rows_of(transform, record.record(), length_of(transform, record.record()));
}

std::string refusal_of_tags(const std::vector<std::string>& names) {
  const Settings settings = table_of("tags", {{"tags_from", std::string("tag")}, {"tags", names}});
  try {
    transforms().at("tags").check(settings);
  } catch (const UserError& error) {
    return std::string(error.what()) + "; " + error.hint();
  }
  return "";
}

}  // namespace

TEST_CASE("pair puts two texts into one row, with their special tokens and types") {
  CHECK(pair_of(first, second, 40) ==
        std::vector<Row64>{{2, 5, 7, 8, 9, 11, 14, 3, 12, 6, 13, 8, 10, 11, 5, 15, 17, 7, 3},
                           {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
}

TEST_CASE("pair cuts the longer text first, and then both") {
  CHECK(pair_of(first, second, 9)[0] == Row64{2, 5, 7, 8, 3, 12, 6, 13, 3});
  CHECK(pair_of(first, second, 10) ==
        std::vector<Row64>{{2, 5, 7, 8, 3, 12, 6, 13, 8, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}});
  CHECK(pair_of(second, first, 10) ==
        std::vector<Row64>{{2, 12, 6, 13, 8, 3, 5, 7, 8, 3}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1}});
  CHECK(pair_of(first, second, 13)[0] == Row64{2, 5, 7, 8, 9, 11, 3, 12, 6, 13, 8, 10, 3});
  CHECK(pair_of(second, first, 13)[0] == Row64{2, 12, 6, 13, 8, 10, 3, 5, 7, 8, 9, 11, 3});
  CHECK(pair_of("the dog jumps over", "a fox jumped a", 8)[0] == Row64{2, 5, 7, 3, 12, 13, 8, 3});
}

TEST_CASE("pair has the form that the tokenizer's file prescribes") {
  const auto form = [](const std::string& processor) {
    return pair_of("the dog", "a fox", 20, word_pieces(processor));
  };
  CHECK(form(R"({"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})") ==
        std::vector<Row64>{{2, 5, 7, 3, 3, 12, 13, 3}, {0, 0, 0, 0, 0, 0, 0, 0}});
  CHECK(form(R"({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})") ==
        std::vector<Row64>{{2, 5, 7, 3, 12, 13, 3}, {0, 0, 0, 0, 1, 1, 1}});
  CHECK(form("null") == std::vector<Row64>{{5, 7, 12, 13}, {0, 0, 1, 1}});
  const std::string swapped = R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
      "special_tokens": {}})";
  CHECK(form(swapped) == std::vector<Row64>{{12, 13, 5, 7}, {0, 0, 1, 1}});
}

TEST_CASE("pair takes separators by their names, and knows lengths of bytes from outlines") {
  const auto pair = transform_of(
      "pair", {{"second", std::string("more")}, {"max", std::int64_t{7}}, {"end", std::string("<|endoftext|>")}});
  TextRecord record, outline, longer;
  CHECK(rows_of(*pair, record.text("txt", "ab").text("more", "c").record(), 6) ==
        std::vector<Row64>{{97, 98, 256, 99, 256, 0}, {0, 0, 0, 1, 1, 0}});
  CHECK(length_of(*pair, outline.outline("txt", 2).outline("more", 1).record()) == 5);
  const auto skips = transform_of(
      "pair", {{"second", std::string("more")}, {"max", std::int64_t{3}}, {"longer", std::string("skip")}});
  CHECK_THROWS_WITH_AS(length_of(*skips, longer.text("txt", "ab").text("more", "c").record()),
                       "it has 5 tokens, more than max = 3", SampleError);
  CHECK_THROWS_WITH_AS(transform_of("pair", {{"second", std::string("mroe")}, {"max", std::int64_t{7}}}),
                       doctest::Contains("field.second: the data set has no part 'mroe'"), UserError);
}

TEST_CASE("tags labels the first token of each word, and no other one") {
  const auto words = tags_of(word_pieces(), 20, {{"add_special", true}});
  CHECK(words->fields()[1].values == 5);
  const std::vector<Row64> expected{{2, 15, 16, 17, 8, 9, 11, 7, 9, 14, 3},
                                    {none, 1, 2, none, 0, none, 0, 3, none, none, none}};
  CHECK(tagged(*words, "New Yorker jumps \u200d over dogs.", "B-LOC I-LOC O I-X O B-X") == expected);
  CHECK(tagged(*words, R"(["New", "Yorker", "jumps", "\u200d", "over", "dogs."])",
               R"(["B-LOC", "I-LOC", "O", "I-X", "O", "B-X"])") == expected);
  CHECK(show(stored_shape(words->fields()[1], Row64{11}), std::as_bytes(std::span(expected[1]))).text ==
        "B-LOC I-LOC O O B-X");
  // A row shows the words beside their tags.
  const auto fields = words->fields();
  const std::vector<std::span<const std::byte>> values{std::as_bytes(std::span(expected[0])),
                                                       std::as_bytes(std::span(expected[1]))};
  const auto shown = show_row(fields, Row64{11, 11}, values);
  REQUIRE(shown.size() == 2);
  CHECK(shown[1].shown.text == "new/B-LOC yorker/I-LOC jumps/O over/O dogs./B-X");
}

TEST_CASE("tags puts the blank before a word that its tokenizer needs") {
  const std::vector<Row64> plain{{12, 17, 19}, {0, 1, 2}}, prefixed{{8, 12, 17, 19}, {0, none, 1, 2}};
  CHECK(tagged(*tags_of(byte_pairs(false)), "Hello  world a", "O B-LOC I-LOC") == plain);
  CHECK(tagged(*tags_of(byte_pairs(true)), "Hello world a", "O B-LOC I-LOC") == prefixed);
}

TEST_CASE("tags cuts a text with its labels, and keeps the special tokens") {
  const auto words = tags_of(word_pieces(), 5, {{"add_special", true}});
  CHECK(tagged(*words, "new yorker jumps", "B-LOC I-LOC O") ==
        std::vector<Row64>{{2, 15, 16, 17, 3}, {none, 1, 2, none, none}});
}

TEST_CASE("a record whose tags do not fit its words is damaged") {
  const auto words = tags_of(word_pieces());
  CHECK_THROWS_WITH_AS(tagged(*words, "new york", "O"), "it has 2 words, but 1 tags", SampleError);
  CHECK_THROWS_WITH_AS(tagged(*words, "new york", "O B-Y"), "the tag 'B-Y' is not among the tags", SampleError);
  CHECK_THROWS_WITH_AS(tagged(*words, R"(["new", null, "york"])", R"(["O", "O", "O"])"),
                       R"(the list of words or tags has items that are no texts: ["new", null, "york"])", SampleError);
  TextRecord record;
  CHECK_THROWS_WITH_AS(rows_of(*words, record.text("txt", "new").record(), 4), "it has no part 'tag'", SampleError);
}

TEST_CASE("tags of spans are in the order of the metric, others in any") {
  CHECK(refusal_of_tags(tags) == "");
  CHECK(refusal_of_tags({"NOUN", "VERB"}) == "");
  CHECK(refusal_of_tags({"B-A", "I-A", "O"}) ==
        "test.toml:1:1: field.tags: tags of spans have an order: O, and for each kind X its B-X and I-X; write tags = "
        "[\"O\", \"B-A\", \"I-A\"]");
  CHECK(refusal_of_tags({"O", "O"}).find("names 'O' twice") != std::string::npos);
  CHECK(refusal_of_tags({}).find("is empty") != std::string::npos);
}

TEST_CASE("predictions need no tags: tokens then have no labels, but the numbers of their words") {
  const FormsOnly untagged({{"txt", Encoding::text}});
  const auto& entry = samplers().at("fields");
  const std::vector<Settings> fields{
      table_of("tags", {{"max", std::int64_t{4}}, {"tags_from", std::string("tag")}, {"tags", tags}})};
  const auto make = [&](bool needs_targets) {
    const SamplerInput input{.dataset = untagged, .training = false, .needs_targets = needs_targets, .fields = fields};
    return entry.make(Settings("sampler", entry.keys), input);
  };
  CHECK_THROWS_AS(make(true), UserError);
  const auto sampler = make(false);
  std::vector<Row64> rows{Row64(4), Row64(4), Row64(4), Row64(1)};
  std::vector<std::byte*> starts;
  for (auto& row : rows) starts.push_back(reinterpret_cast<std::byte*>(row.data()));
  Stream random(1, Purpose::sample, 0);
  TextRecord record;
  sampler->sample(record.text("txt", "a b").record(), random, Row(starts));
  CHECK(rows == std::vector<Row64>{{97, 32, 98, 0}, {none, none, none, none}, {0, 1, none, none}, {3}});
  CHECK(sampler->fields()[2].name == words_field);
  CHECK(target_fields_of(fields[0]) == std::vector<std::string>{"label", "label_bytes"});
  CHECK(parts_of(fields[0]).targets == std::vector<std::string>{"tag"});
}

TEST_CASE("predictions tell of the first text that is cut, unless the configuration says so") {
  static std::vector<std::string> warnings;
  const auto& entry = samplers().at("fields");
  const FormsOnly texts({{"txt", Encoding::text}});
  for (const bool gives_longer : {false, true}) {
    warnings.clear();
    set_warning_sink([](const std::string& text) { warnings.push_back(text); });
    std::vector<std::pair<std::string, Value>> keys{{"max", std::int64_t{2}}};
    if (gives_longer) keys.emplace_back("longer", std::string("cut"));
    const std::vector<Settings> fields{table_of("tokens", keys)};
    const auto sampler = entry.make(Settings("sampler", entry.keys),
                                    {.dataset = texts, .training = false, .needs_targets = false, .fields = fields});
    std::vector<Row64> rows{Row64(2), Row64(1)};
    std::vector<std::byte*> starts;
    for (auto& row : rows) starts.push_back(reinterpret_cast<std::byte*>(row.data()));
    Stream random(1, Purpose::sample, 0);
    TextRecord record;
    sampler->sample(record.text("txt", "abc").record(), random, Row(starts));
    set_warning_sink(nullptr);
    CHECK(warnings.size() == (gives_longer ? 0 : 1));
  }
}

}  // namespace flowtrain::pair_tags_test
