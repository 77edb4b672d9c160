#pragma once
// Files made up to harm whoever reads them.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain::hostile {

/// A file, and who is to read it. Every one must be refused.
struct Case {
  std::string what;    ///< for messages
  std::string reader;  ///< of readers() in hostile_test.cpp
  std::string bytes;
};

/// What a file that gets executed would leave behind: a file of this name in the working directory.
inline const std::string marker = "executed";

std::vector<Case> images();
std::vector<Case> archives();
std::vector<Case> weights();
std::vector<Case> texts();

/// One of `parents`, all of one reader, with a few changes that follow from `number`.
Case changed_by_chance(const std::vector<Case>& parents, std::uint64_t number);

/// `bytes` packed as zlib (window 15) or gzip (window 15 + 16) does, `times` times in a row.
std::string packed(const std::string& bytes, std::size_t times, int window);

}  // namespace flowtrain::hostile
