#pragma once
// Ids of texts, as the transforms of text share them: their keys, the ids of a part, and the special tokens around
// them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/tokens/tokenizer.h"
#include "sampling/tokens/word_model.h"
#include "sampling/transforms/counted_warning.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {

using Ids = std::vector<std::uint32_t>;

/// The value of a label that does not count, as PyTorch's losses ignore it.
inline constexpr std::int64_t no_label = -100;
/// The name of the field that tells where words begin, i64 (length): the number of a word at its first token, else
/// no_label. Records without tags have it, in place of labels.
inline constexpr const char* words_field = "word_begin";

/// Returns the keys of transforms that make rows of ids, and `more` behind them.
std::vector<Key> id_keys(std::vector<Key> more = {}, bool add_special = false);
/// Returns the key `vocabulary` of transforms that also take stored ids.
Key vocabulary_key();

/// Opens the tokenizer that the keys name.
std::shared_ptr<const Tokenizer> tokenizer_of(const Settings& settings);
/// Returns the options of an encoding that the keys choose.
EncodeOptions encoding_of(const Settings& settings);
/// Returns the id of the special token that a key names, or nothing if the key is empty. Throws UserError(usage) for
/// one that the tokenizer lacks.
std::optional<std::uint32_t> special_of(const Settings& settings, const char* key, const Tokenizer& tokenizer);

/// Returns the warning of records whose part `name` gives no id, from which a net learns something that must be meant.
CountedWarning empty_warning(const Settings& settings, const std::string& name);

/// Returns whether a part of an outline stands for a text that is not read yet.
bool is_outline(const Part& part);
/// Returns the text of a part.
std::string_view text_of(const Part& part);
/// Returns what make(value) has filled in for this text, whose length is asked for before its row is made: each thread
/// keeps the last value of the four transforms that it used last. `instance` is a transform's own number. The value
/// stays until the next call of any transform.
template <class Value, class Make>
const Value& kept(std::uint64_t instance, std::string_view text, const Make& make) {
  struct Last {
    std::uint64_t of = 0;
    std::string text = {};
    Value value = {};
  };
  thread_local std::array<Last, 4> lasts;
  thread_local std::size_t oldest = 0;
  std::size_t at = 0;
  while (at < lasts.size() && lasts[at].of != instance) ++at;
  if (at < lasts.size() && lasts[at].text == text) return lasts[at].value;
  if (at == lasts.size()) at = oldest++ % lasts.size();
  Last& last = lasts[at];
  last.of = 0;  // make() may throw
  make(last.value);
  last.text = text;
  last.of = instance;
  return last.value;
}

/// The ids of a part: those of a text, or stored ones, i32 or i64 (N). Const and called from many threads at once.
class TextIds {
 public:
  enum class Takes { texts, texts_and_ids };

  /// Opens the tokenizer, unless one is given. Throws UserError(usage) for parts of other encodings, and for keys that
  /// do not fit together.
  TextIds(const Settings& settings, const PartForm& from, Takes takes, std::shared_ptr<const Tokenizer> tokenizer = {});

  /// Returns the tokenizer; null for stored ids without one.
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// Returns the number of ids that there are; 0 if it is not known.
  std::int64_t vocabulary() const { return vocabulary_; }
  /// Returns the number of a record's ids, or unknown_extent for an outline that does not tell it. Throws SampleError.
  std::int64_t count(const Record& record) const;
  /// Returns the ids of a record, which stay until this thread asks for others. Throws SampleError.
  const Ids& operator()(const Record& record) const;
  /// Warns of a record without ids.
  void tell_if_empty(const Ids& ids) const {
    if (ids.empty()) empty_.add();
  }

 private:
  const Part& part(const Record& record) const;
  const Ids& stored(const Part& part) const;

  PartForm from_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EncodeOptions options_;
  bool is_stored_, one_id_a_byte_;
  CountedWarning empty_;
  std::int64_t vocabulary_ = 0;
  std::uint64_t instance_ = next_instance();
};

/// The greatest length of a row of ids, and the fate of texts that are longer: the keys max and longer.
class LongestRow {
 public:
  /// A row has `further` ids beyond max.
  explicit LongestRow(const Settings& settings, std::int64_t further = 0);

  /// Returns the number of ids of the longest row.
  std::int64_t most() const { return most_; }
  /// Returns the length of the row of so many ids. Throws SampleError if they are too many and are not to be cut.
  std::int64_t length(std::int64_t ids) const;
  /// Counts a text that was cut.
  void count_cut() const { cut_.add(); }

 private:
  std::int64_t most_, further_;
  bool cuts_;
  CountedWarning cut_;
};

/// The form of a row of ids: special tokens before and after those of a text, and the greatest length.
class RowForm {
 public:
  /// The fate of the tokens after a text, where the text is cut.
  enum class CutEnd { stays, is_cut };

  /// Reads the keys add_special, begin, end, max and longer. A row has `further` ids beyond max. `tokenizer` may be
  /// null. Throws UserError(usage).
  RowForm(const Settings& settings, const Tokenizer* tokenizer, CutEnd end, std::int64_t further = 0);

  std::size_t before() const { return begin_.size(); }
  std::size_t after() const { return end_.size(); }
  /// Returns the length of the row of `count` ids, or unknown_extent as it is. Throws SampleError if it is too long and
  /// not to be cut.
  std::int64_t length(std::int64_t count) const;
  /// Returns the row, which stays until this thread makes another one.
  const Ids& row(std::span<const std::uint32_t> ids) const;

 private:
  Ids begin_, end_;
  LongestRow longest_;
  bool end_stays_;
};

/// Writes numbers as the row of a field of one free axis, i32 or i64, and fills what is left up to the extent.
template <class Number>
void put_row(const Field& field, std::span<const Number> numbers, std::byte* to, std::span<const std::int64_t> extents);

/// Returns the view of a field of ids as a text: pieces between "|", special tokens by their names. Empty without a
/// tokenizer.
ShowValue show_ids(std::shared_ptr<const Tokenizer> tokenizer);
/// Returns the view of labels as a text, without those that do not count.
ShowValue show_next_ids(std::shared_ptr<const Tokenizer> tokenizer);
/// Returns the view of labels that tells the place and the piece of each one that counts: "2: brown, 7: dog".
ShowValue show_chosen_ids(std::shared_ptr<const Tokenizer> tokenizer);
/// Returns the view of labels that names those that count: "O B-PER I-PER".
ShowValue show_names(std::vector<std::string> names);
/// Returns the view of labels at the first tokens of words, with the words of the field `ids`: "EU/B-ORG rejects/O".
ShowValue show_named_words(std::shared_ptr<const Tokenizer> tokenizer, std::string ids, std::vector<std::string> names);
/// Returns the text of the ids that begin with a word and end before the next one or with the row: without the blanks
/// around it, and without special tokens behind it. A special token alone has its name.
std::string text_of_word(const Tokenizer& tokenizer, std::span<const std::int64_t> ids);

}  // namespace flowtrain
