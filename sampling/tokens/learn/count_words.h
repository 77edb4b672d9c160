#pragma once
// Counts the words of files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sampling/tokens/learn/train.h"

namespace flowtrain {

/// A word and how often it occurs.
struct CountedWord {
  std::string text;
  std::uint64_t count = 0;
};

/// Returns the words of all files, sorted by their bytes. Throws UserError(data) for a file that cannot be read.
std::vector<CountedWord> count_words(const std::vector<std::filesystem::path>& files,
                                     const TokenizerTraining& training);

}  // namespace flowtrain
