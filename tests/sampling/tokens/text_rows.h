#pragma once
// Records of texts and ids, tokenizers and rows for tests of the transforms of text.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/registry.h"
#include "sampling/samplers/entries.h"
#include "sampling/transform.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::testing {

using Values = std::vector<std::pair<std::string, Value>>;
using Row64 = std::vector<std::int64_t>;

/// Returns a WordPiece tokenizer.json of few words, with this post-processor.
inline std::string word_pieces(const std::string& post_processor = R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}})") {
  return R"({"added_tokens": [
    {"id": 0, "content": "[PAD]", "special": true, "normalized": false},
    {"id": 1, "content": "[UNK]", "special": true, "normalized": false},
    {"id": 2, "content": "[CLS]", "special": true, "normalized": false},
    {"id": 3, "content": "[SEP]", "special": true, "normalized": false},
    {"id": 4, "content": "[MASK]", "special": true, "normalized": false}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                 "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": )" +
         post_processor + R"(,
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "brown": 6, "dog": 7,
                      "jump": 8, "##s": 9, "##ed": 10, "over": 11, "a": 12, "fox": 13, ".": 14, "new": 15, "york": 16,
                      "##er": 17}}})";
}

/// Returns a tokenizer.json of byte-pair encoding as GPT-2's, of a few words.
inline std::string byte_pairs(bool add_prefix_space) {
  return std::string(R"({"added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "trim_offsets": true, "use_regex": true, "add_prefix_space": )") +
         (add_prefix_space ? "true" : "false") + R"(},
  "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": {"<s>": 0, "H": 1, "e": 2, "l": 3, "o": 4, "w": 5, "r": 6, "d": 7, "Ġ": 8, "He": 9, "ll": 10,
                      "Hell": 11, "Hello": 12, "Ġw": 13, "or": 14, "ld": 15, "Ġwor": 16, "Ġworld": 17, "a": 18,
                      "Ġa": 19},
            "merges": [["H", "e"], ["l", "l"], ["He", "ll"], ["Hell", "o"], ["Ġ", "w"], ["o", "r"], ["l", "d"],
                       ["Ġw", "or"], ["Ġwor", "ld"], ["Ġ", "a"]]}})";
}

/// A record of named texts and ids; views of it are valid as long as it is there.
class TextRecord {
 public:
  TextRecord() = default;
  TextRecord(const TextRecord&) = delete;
  TextRecord& operator=(const TextRecord&) = delete;

  TextRecord& text(std::string_view name, std::string_view text) {
    parts_.push_back({.name = name, .encoding = Encoding::text, .bytes = std::as_bytes(std::span(text))});
    return *this;
  }
  /// Adds the outline of a text of so many bytes.
  TextRecord& outline(std::string_view name, std::int64_t bytes) {
    shape_[parts_.size()] = bytes;
    parts_.push_back({.name = name, .encoding = Encoding::text, .shape = {&shape_[parts_.size()], 1}});
    return *this;
  }
  template <class Id>
  TextRecord& ids(std::string_view name, const std::vector<Id>& ids) {
    shape_[parts_.size()] = static_cast<std::int64_t>(ids.size());
    parts_.push_back({.name = name,
                      .encoding = Encoding::array,
                      .bytes = std::as_bytes(std::span(ids)),
                      .dtype = sizeof(Id) == 4 ? DType::i32 : DType::i64,
                      .shape = {&shape_[parts_.size()], 1}});
    return *this;
  }
  Record record(std::uint64_t id = 0) const { return {.id = id, .parts = parts_}; }

 private:
  std::vector<Part> parts_;
  std::array<std::int64_t, 4> shape_{};
};

/// A data set of records with these parts, which are not read.
struct FormsOnly : MemoryDataset {
  explicit FormsOnly(std::vector<PartForm> parts) : MemoryDataset({}), forms(std::move(parts)) {}
  std::vector<PartForm> parts() const override { return forms; }
  std::vector<PartForm> forms;
};

inline const FormsOnly& text_forms() {
  static const FormsOnly dataset({{"txt", Encoding::text},
                                  {"more", Encoding::text},
                                  {"tag", Encoding::text},
                                  {"ids", Encoding::array, DType::i32, {-1}},
                                  {"longs", Encoding::array, DType::i64, {-1}},
                                  {"reals", Encoding::array, DType::f32, {-1}}});
  return dataset;
}

/// Returns the table [[field]] of a transform, for the field `tokens`.
inline Settings table_of(const std::string& as, const Values& values) {
  std::vector<Key> keys = transforms().at(as).keys;
  keys.push_back({"name", Kind::text, std::string("tokens"), "the field"});
  keys.push_back({"from", Kind::text, std::string("txt"), "the part"});
  keys.push_back({"as", Kind::text, as, "the transform"});
  return settings_for(keys, values, "field");
}

/// Makes a transform of the part that `values` name, txt if they name none.
inline std::unique_ptr<Transform> transform_of(const std::string& as, const Values& values, bool training = true) {
  const Settings settings = table_of(as, values);
  const auto forms = text_forms().parts();
  const auto& from = *std::ranges::find(forms, settings.text("from"), &PartForm::name);
  return transforms().at(as).make(settings,
                                  {.dataset = text_forms(), .training = training, .name = "tokens", .from = from});
}

/// Returns the values of each field of a row.
inline std::vector<Row64> rows_of(const Transform& transform, const Record& record, std::int64_t extent,
                                  Stream random = Stream(1, Purpose::sample, 3)) {
  const auto fields = transform.fields();
  const std::vector<std::int64_t> extents(free_axes_of(fields), extent);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> starts;
  memory.reserve(fields.size());
  starts.reserve(fields.size());
  for (auto& field : fields) memory.emplace_back(field.row_bytes({&extent, 1}));
  for (auto& bytes : memory) starts.push_back(bytes.data());
  transform.make(record, random, Row(starts, extents));
  std::vector<Row64> rows;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Row64& row = rows.emplace_back(static_cast<std::size_t>(extent));
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (fields[i].dtype == DType::i64) {
        std::memcpy(&row[k], memory[i].data() + 8 * k, 8);
      } else {
        std::int32_t number = 0;
        std::memcpy(&number, memory[i].data() + 4 * k, 4);
        row[k] = number;
      }
    }
  }
  return rows;
}

/// Returns the length of a record's row, which all fields must have.
inline std::int64_t length_of(const Transform& transform, const Record& record) {
  Row64 extents(free_axes_of(transform.fields()));
  transform.measure(record, extents);
  for (const auto extent : extents)
    if (extent != extents[0]) return -2;
  return extents[0];
}

}  // namespace flowtrain::testing
