// The transform `tags`: the ids of a text of words, and a label for each word, as for the recognition of names.
#include <algorithm>
#include <map>
#include <utility>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/field_parts.h"
#include "sampling/io/json_texts.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

using Texts = std::vector<std::string>;

/// Returns the words of a text: the items of a JSON list of texts, or what stands between blanks.
Texts words_of_text(std::string_view text) {
  Texts words;
  if (const auto list = trimmed(text); list.starts_with('[')) {
    const JsonTexts found = append_json_texts(list, words);
    if (found == JsonTexts::added) return words;
    if (found == JsonTexts::other_items)
      throw SampleError(concat("the list of words or tags has items that are no texts: ", list.substr(0, 60)));
    words.clear();
  }
  constexpr std::string_view blanks = " \t\r\n\v\f";
  for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Returns the kind of a tag such as "B-PER" or "I-PER"; empty for others.
std::string kind_of(const std::string& tag) {
  return tag.starts_with("B-") || tag.starts_with("I-") ? tag.substr(2) : std::string();
}

/// Returns the tags of the same kinds in the order that the metrics of spans take.
Texts in_order(const Texts& tags) {
  Texts kinds, ordered{"O"};
  for (auto& tag : tags)
    if (const auto kind = kind_of(tag); !kind.empty() && std::ranges::find(kinds, kind) == kinds.end())
      kinds.push_back(kind);
  for (auto& kind : kinds) ordered.insert(ordered.end(), {"B-" + kind, "I-" + kind});
  return ordered;
}

void check_tags(const Settings& settings) {
  const Texts& tags = settings.texts("tags");
  const auto error = [&](const std::string& what, const std::string& hint) {
    return settings.error("tags", what, ExitCode::usage, hint);
  };
  if (tags.empty()) throw error("is empty", "list the names of all tags: [\"O\", \"B-PER\", \"I-PER\"]");
  for (auto tag = tags.begin(); tag != tags.end(); ++tag)
    if (std::find(tags.begin(), tag, *tag) != tag) throw error("names '" + *tag + "' twice", "name each tag once");
  const bool are_spans = std::ranges::any_of(tags, [](auto& tag) { return !kind_of(tag).empty(); });
  if (are_spans && tags != in_order(tags))
    throw error("tags of spans have an order: O, and for each kind X its B-X and I-X",
                "write tags = " + to_toml(Value(in_order(tags))));
}

/// The ids of a text's words.
struct WordIds {
  Texts words = {};
  Ids ids = {};
  std::vector<std::size_t> ends = {};  ///< index in `ids` behind each word
};

class TagsTransform final : public Transform {
 public:
  TagsTransform(const Settings& settings, const TransformInput& input)
      : from_(text_form(settings, input.from)),
        tokenizer_(tokenizer_of(settings)),
        options_(encoding_of(settings)),
        form_(settings, tokenizer_.get(), RowForm::CutEnd::stays),
        empty_(empty_warning(settings, input.from.name)) {
    check_tags(settings);
    if (!settings.text("tags_from").empty())
      tags_from_ = text_form(settings, part_form(settings, "tags_from", input.dataset));
    const Texts& tags = settings.texts("tags");
    for (auto& tag : tags) numbers_.emplace(tag, static_cast<std::int64_t>(numbers_.size()));
    // Tokenizers that put a blank before each text themselves get none.
    Ids twice = tokenizer_->encode("a");
    tokenizer_->encode("a", twice, {});
    needs_blank_ = tokenizer_->encode("a a") != twice;
    Field field{.name = input.name, .dtype = DType::i64, .shape = {settings.integer("max")}};
    field.free_axes = 1;
    field.fill = static_cast<double>(settings.integer("fill"));
    field.values = static_cast<std::int64_t>(tokenizer_->vocabulary_size());
    field.tokenizer = tokenizer_;
    field.show = show_ids(tokenizer_);
    fields_.push_back(field);
    field.name = "label";
    field.tokenizer = nullptr;
    field.fill = no_label;
    field.values = static_cast<std::int64_t>(tags.size());
    field.show = show_named_words(tokenizer_, input.name, tags);
    fields_.push_back(field);
    if (tags_from_) return;
    field.name = words_field;
    field.values = 0;
    field.show = {};
    fields_.push_back(std::move(field));
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const Part& part = part_of(record, from_);
    const auto count = is_outline(part) ? unknown_extent : static_cast<std::int64_t>(encoded(part).ids.size());
    std::ranges::fill(extents, form_.length(count));
  }

  void make(const Record& record, Stream, Row to) const override {
    const WordIds& text = encoded(part_of(record, from_));
    if (text.ids.empty()) empty_.add();
    const Ids& row = form_.row(text.ids);
    thread_local std::vector<std::int64_t> labels;
    labels.assign(row.size(), no_label);
    if (tags_from_) put_labels(record, text, labels);
    put_row<std::uint32_t>(fields_[0], row, to[0], to.extents());
    put_row<std::int64_t>(fields_[1], labels, to[1], to.extents());
    if (tags_from_) return;
    put_at_words(text, labels, [](std::size_t word) { return static_cast<std::int64_t>(word); });
    put_row<std::int64_t>(fields_[2], labels, to[2], to.extents());
  }

 private:
  static PartForm text_form(const Settings& settings, const PartForm& form) {
    if (form.encoding != Encoding::text && form.encoding != Encoding::bytes)
      throw wrong_part(settings, form, "texts of words and tags",
                       "write the names of tags as texts: \"O B-PER\", or a list of texts");
    return form;
  }

  const WordIds& encoded(const Part& part) const {
    return kept<WordIds>(instance_, text_of(part), [&](WordIds& text) {
      text.words = words_of_text(text_of(part));
      text.ids.clear();
      text.ends.clear();
      for (auto& word : text.words) {
        const bool follows = !text.ends.empty();
        tokenizer_->encode(follows && needs_blank_ ? " " + word : word, text.ids, options_);
        text.ends.push_back(text.ids.size());
      }
    });
  }

  void put_labels(const Record& record, const WordIds& text, std::vector<std::int64_t>& labels) const {
    const Texts tags = words_of_text(text_of(part_of(record, *tags_from_)));
    if (tags.size() != text.words.size())
      throw SampleError(concat("it has ", text.words.size(), " words, but ", tags.size(), " tags"));
    put_at_words(text, labels, [&](std::size_t word) {
      const auto tag = numbers_.find(tags[word]);
      if (tag == numbers_.end()) throw SampleError(concat("the tag '", tags[word], "' is not among the tags"));
      return tag->second;
    });
  }

  /// Writes the number of each word to its first token in the row, unless the word is cut off, or has no token.
  template <class NumberOf>
  void put_at_words(const WordIds& text, std::vector<std::int64_t>& row, const NumberOf& number_of) const {
    const std::size_t kept = row.size() - form_.before() - form_.after();
    for (std::size_t word = 0, first = 0; word < text.words.size(); first = text.ends[word++]) {
      const std::int64_t number = number_of(word);
      if (first < text.ends[word] && first < kept) row[form_.before() + first] = number;
    }
  }

  PartForm from_;
  std::optional<PartForm> tags_from_;  ///< predictions have no tags
  std::shared_ptr<const Tokenizer> tokenizer_;
  EncodeOptions options_;
  RowForm form_;
  CountedWarning empty_;
  bool needs_blank_ = false;
  std::map<std::string, std::int64_t, std::less<>> numbers_;  ///< labels of the tags
  std::vector<Field> fields_;
  std::uint64_t instance_ = next_instance();
};

}  // namespace

TransformEntry tags_transform_entry() {
  auto keys = id_keys({{.name = "tags_from",
                        .kind = Kind::text,
                        .fallback = std::string(),
                        .help = "part of the sample with a tag for each word",
                        .required = true},
                       {.name = "tags",
                        .kind = Kind::texts,
                        .fallback = Texts{},
                        .help = "names of all tags, whose places are the labels; those of spans in the order of the "
                                "metric span_f1: O, then B-X and I-X of each kind X",
                        .required = true}});
  return {.name = "tags",
          .help =
              "the ids of a text of words, i64 (length), and the field label, i64 (length): the tag of each word on "
              "its first token, else -100; words and tags stand between blanks, or in a JSON list; without tags, the "
              "field word_begin has the number of each word there",
          .keys = std::move(keys),
          .make = [](const Settings& settings,
                     const TransformInput& input) { return std::make_unique<TagsTransform>(settings, input); },
          .check =
              [](const Settings& settings) {
                check_tags(settings);
                if (settings.text("tags_from").empty()) throw settings.error("tags_from", "names no part");
              }};
}

}  // namespace flowtrain
