#pragma once
// Learns vocabularies for byte-pair encoding from files.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace flowtrain {

/// The parts of a tokenizer that is learned.
struct TokenizerTraining {
  std::uint32_t vocabulary = 0;        ///< number of ids, special tokens and the 256 bytes included
  std::string pattern = "o200k_base";  ///< one of pattern_names (tokenizer.h)
  std::vector<std::string> special;    ///< special tokens; they get the first ids
  std::uint64_t least_count = 2;       ///< pairs that occur less often do not merge
  unsigned threads = 1;                ///< threads that count words; the result is the same for any number
};

/// A vocabulary: ids 0 … are the special tokens, then come the bytes in the order of GPT-2's alphabet, then the merges.
struct LearnedPairs {
  std::vector<std::string> special;
  std::string pattern;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;  ///< merge i makes the id special + 256 + i
};

/// Learns merges from the words of files: the pair that occurs most often is the next one, and of equal pairs that of
/// the least ids. No token is longer than 256 bytes. Special tokens in the texts end words, and are not counted. Throws
/// UserError(data) for a file that cannot be read and for files without text, and UserError(usage) for special tokens
/// that are empty, the same, names of other tokens or too many.
LearnedPairs learn_pairs(const std::vector<std::filesystem::path>& files, const TokenizerTraining& training);

/// Returns the tokenizer.json of a vocabulary.
std::string tokenizer_json(const LearnedPairs& pairs);

}  // namespace flowtrain
