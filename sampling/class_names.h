#pragma once
// The classes of one data set held against those of another.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Whether the names are "0", "1", "2" …: classes that are counted, not named.
bool has_only_numbers(const std::vector<std::string>& names);

/// Where the classes of a data set stand among `known` ones.
struct ClassPlaces {
  std::vector<std::int32_t> labels;  ///< of each of its classes, in order: the label that `known` gives it
  std::vector<std::string> lacking;  ///< the known classes that it does not have
};

/// Finds each of `classes` among `known`, by name. Where one of the two is only counted, labels count: `classes` may
/// then be fewer than named ones, and must be as many as those that are only counted. Throws std::invalid_argument,
/// with both lists, where `known` lacks one, or where a name that stands twice leaves open which one is meant.
ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes);

/// "cat, dog, emu", with the first ten of them at most: "a, b, …, j and 990 more".
std::string listed_classes(const std::vector<std::string>& names);

}  // namespace flowtrain
