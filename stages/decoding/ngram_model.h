#pragma once
// An n-gram language model, read from a file in the ARPA format (D. B. Paul, J. M. Baker, "The Design for the Wall
// Street Journal-based CSR Corpus", 1992; the man page ngram-format(5) of SRILM).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// Hashes the bytes of a word one after another (FNV-1a, 64 bits), so that a word needs no memory of its own.
inline constexpr std::uint64_t empty_word = 0xcbf29ce484222325;
constexpr std::uint64_t with_byte(std::uint64_t word, char byte) {
  return (word ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
}
constexpr std::uint64_t hash_of_word(std::string_view text) {
  std::uint64_t word = empty_word;
  for (const char byte : text) word = with_byte(word, byte);
  return word;
}

/// Gives the probabilities of words by those before them, with the weights of shorter n-grams where the file lacks one
/// (S. M. Katz, 1987). Logarithms are natural ones. n-grams are kept by hashes of 64 bits, 16 bytes each, in a
/// table that is at most half full. Const methods may be called from many threads.
class NgramModel {
 public:
  static constexpr std::size_t most_order = 8;

  /// The last words, the newest first: as many as the model looks back.
  struct State {
    std::array<std::uint64_t, most_order - 1> words{};
    std::uint8_t length = 0;
  };

  /// Reads the bytes of a file, which may be packed by gzip; `name` is for messages. Throws UserError(data) that names
  /// the line and what is wrong with it.
  NgramModel(std::string_view bytes, const std::string& name);
  /// Opens a file. Throws UserError(data), too, if it cannot be read.
  static NgramModel open(const std::string& path);

  std::size_t order() const { return order_; }
  /// Returns the words in the order of the file, with "<s>", "</s>" and "<unk>" if it has them.
  const std::vector<std::string>& words() const { return words_; }
  bool knows(std::uint64_t word) const;

  /// Returns the state at the beginning of a text.
  State begin() const;
  /// Returns the logarithm of a word's probability (hash_of_word) and moves the state behind it. A word that the file
  /// lacks is "<unk>"; where the file lacks that, too, its probability is 1e-100, as in KenLM.
  double score(State& state, std::uint64_t word) const;
  /// Returns the logarithm of the probability that a text ends; 0 if the file has no "</s>".
  double end(const State& state) const;

 private:
  struct Entry {
    std::uint64_t key = 0;  // 0: free
    float probability = 0, backoff = 0;
  };
  class Reader;

  const Entry* find(std::uint64_t key) const;
  Entry& insert(std::uint64_t key);

  std::size_t order_ = 0;
  std::vector<Entry> table_;  // a power of 2, at most half full
  std::vector<std::string> words_;
};

}  // namespace flowtrain
