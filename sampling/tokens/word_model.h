#pragma once
// Models turn words, the pieces that a text is split into, into ids.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/vocabulary.h"

namespace flowtrain {

/// A word that was met before and its ids: one line of the processor's cache.
struct alignas(64) KeptWord {
  std::array<std::uint64_t, 3> key{};  ///< up to 23 bytes, and their number in the last byte
  std::array<std::uint32_t, 9> ids{};
  std::uint32_t count = 0;
};

/// Memory of one thread for one tokenizer.
struct Scratch {
  HugeVector<KeptWord> kept;                         ///< pairs by the hash of words; it grows with new words
  std::size_t new_words = 0;                         ///< words that were kept since it has grown
  std::vector<std::uint32_t> symbols, ranks, links;  ///< symbols of one word
  std::vector<std::array<std::uint64_t, 3>> heap;
  std::vector<double> scores;
  std::string first, second;  ///< texts in normal form
  std::vector<std::string_view> pieces, finer;
  std::vector<std::unique_ptr<std::string>> texts;  ///< texts of pieces that differ from the text
  std::size_t used_texts = 0;
};

/// Returns this thread's memory for a tokenizer; `instance` is its own number. A thread keeps the last four.
Scratch& scratch_of(std::uint64_t instance);
/// Returns a number that no other tokenizer has.
std::uint64_t next_instance();

/// Turns words into ids, and keeps those of short words that it met. Const and thread-safe.
class WordModel {
 public:
  virtual ~WordModel() = default;
  /// Appends the ids of words, which are not empty.
  void encode(std::span<const std::string_view> words, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

 private:
  /// Appends the ids of a word.
  virtual void encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const = 0;
  void encode_and_keep(std::string_view word, KeptWord& kept, std::vector<std::uint32_t>& ids, Scratch& scratch) const;
};

/// Two neighbours that become one.
struct Merge {
  std::uint32_t rank = no_token, id = no_token;
};

class PairScan;

/// Byte-pair encoding (Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016): of
/// a word's neighbours, those of the least rank merge first, the leftmost of equal ones.
class PairModel final : public WordModel {
 public:
  Vocabulary vocabulary;                 ///< tokens as bytes
  FlatTable<Merge> merges;               ///< by pair_key()
  std::array<std::uint32_t, 256> bytes;  ///< ids of bytes, or of their names <0x00> …; no_token: none
  bool by_bytes = true;                  ///< words begin as bytes, not as characters of the vocabulary
  bool takes_whole_words = false;        ///< a word of the vocabulary is not split
  std::uint32_t unknown = no_token;      ///< id of characters that the vocabulary lacks; no_token: they have none
  bool fuses_unknown = false;            ///< neighbours that are unknown become one
  TextTree frozen;                       ///< texts that are one symbol, and merge with none
  std::size_t text_ids = 0;              ///< ids from here on are symbols of no token

  PairModel() { bytes.fill(no_token); }
  static std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32 | right) + 1;
  }
  /// Adds a merge for each way to make a token of two others; `rank_of(id)` is its rank.
  template <class Rank>
  void merge_all(const Vocabulary& symbols, const Rank& rank_of) {
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      const auto whole = vocabulary.text(id);
      for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        const auto left = symbols.find(whole.substr(0, cut)), right = symbols.find(whole.substr(cut));
        if (left != no_token && right != no_token) merges[pair_key(left, right)] = {rank_of(id), id};
      }
    }
  }
  /// Prepares what is quicker than merging where the vocabulary allows it. Call it once the members are filled in.
  void finish();

  /// Appends the ids of a word by merging its symbols.
  void merge_word(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

 private:
  void encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const override;
  void split(std::string_view word, std::vector<std::uint32_t>& symbols) const;
  void split_characters(std::string_view word, std::vector<std::uint32_t>& symbols) const;
  void merge_short(Scratch& scratch) const;
  void merge_long(Scratch& scratch) const;
  Merge merge_of(std::uint32_t left, std::uint32_t right) const {
    const Merge* found = merges.find(pair_key(left, right));
    return found ? *found : Merge{};
  }

  std::shared_ptr<const PairScan> scan_;  ///< null: words are merged
};

/// Longest matches from the left, as of BERT (Wu et al.: Google's Neural Machine Translation System, 2016).
class WordPieceModel final : public WordModel {
 public:
  /// `prefix` stands before tokens within a word.
  WordPieceModel(const Vocabulary& vocabulary, std::string_view prefix);

  std::uint32_t unknown = no_token;
  std::size_t most_characters = 100;  ///< longer words are unknown

 private:
  void encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const override;

  ByteTree begins_, inner_;  ///< tokens, and those within words without the prefix
};

/// The most probable split (Kudo: Subword Regularization, 2018).
class UnigramModel final : public WordModel {
 public:
  TextTree pieces;
  std::vector<double> scores;  ///< logarithms of probabilities, by id
  double least = 0;            ///< least score of a piece
  std::uint32_t unknown = no_token;
  std::array<std::uint32_t, 256> bytes;  ///< ids of <0x00> …; no_token: unknown characters stay unknown
  bool single_precision = false;         ///< sums are rounded to f32, as SentencePiece does

  UnigramModel() { bytes.fill(no_token); }

 private:
  void encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const override;
};

}  // namespace flowtrain
