#pragma once
// The confusion matrix of a validation, for files and people.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Counts samples (for segmentation: pixels) by label and prediction.
struct ClassTable {
  std::vector<std::string> classes;   ///< names, in label order
  std::vector<std::uint64_t> counts;  ///< (label, prediction), row by row

  std::uint64_t at(std::size_t label, std::size_t prediction) const {
    return counts[label * classes.size() + prediction];
  }
};

/// Writes a line for each label and a column for each prediction; the first line and column hold the names (RFC 4180).
std::string to_csv(const ClassTable& table);

/// Formats lines for people: columns by the classes' numbers, rows by numbers and names.
std::vector<std::string> to_lines(const ClassTable& table);

}  // namespace flowtrain
