#pragma once
// The classes of one data set compared with those of another.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// "0", "1", "2" …: the names of classes that are counted, not named.
std::vector<std::string> numbered_classes(std::size_t count);
/// Whether the names are those of numbered_classes().
bool has_only_numbers(const std::vector<std::string>& names);

/// The labels that `known` classes give to the classes of a data set.
struct ClassPlaces {
  std::vector<std::int32_t> labels;  ///< of each of its classes, in order: the label that `known` gives it
  std::vector<std::string> lacking;  ///< the known classes that it does not have
};

/// Finds each of `classes` among `known`, by name. If one of the two lists has only numbers for names, labels are
/// compared instead: numbered `classes` may be fewer than `known`; named ones must be as many as numbered `known` ones.
/// Throws std::invalid_argument, with both lists, if `known` lacks a class or if a name is in a list twice.
ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes);

/// "cat, dog, emu", with the first ten of them at most: "a, b, …, j and 990 more".
std::string listed_classes(const std::vector<std::string>& names);

}  // namespace flowtrain
