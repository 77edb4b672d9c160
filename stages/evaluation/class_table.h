#pragma once
// What was taken for what: the confusion matrix of a validation, for files and people.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Counts of samples (of segmentation: pixels) by their label and by what was predicted.
struct ClassTable {
  std::vector<std::string> classes;   ///< names, in label order
  std::vector<std::uint64_t> counts;  ///< (label, prediction), row by row

  std::uint64_t at(std::size_t label, std::size_t prediction) const {
    return counts[label * classes.size() + prediction];
  }
};

/// A line for each label, a column for each prediction; the first line and the first column have the names (RFC 4180).
std::string to_csv(const ClassTable& table);

/// Lines for people: the columns by the classes' numbers, the rows by numbers and names.
std::vector<std::string> to_lines(const ClassTable& table);

}  // namespace flowtrain
