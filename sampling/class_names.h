#pragma once
// Compares the classes of two data sets.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// The limit of labels that a data set finds itself; a label beyond it is damage.
inline constexpr std::int64_t max_classes = 1 << 20;

/// Returns "0", "1", "2" …, the names of classes without names.
std::vector<std::string> numbered_classes(std::size_t count);
/// Returns whether the names are those of numbered_classes().
bool has_only_numbers(const std::vector<std::string>& names);

/// The labels that `known` classes give to the classes of a data set.
struct ClassPlaces {
  std::vector<std::int32_t> labels;  ///< the label that `known` gives to each of its classes, in order
  std::vector<std::string> lacking;  ///< the known classes that the data set lacks
};

/// Finds each of `classes` among `known`, by name. If one of the two lists has only numbers for names, labels are
/// compared instead: numbered `classes` may be fewer than `known`; named ones must be as many as numbered `known` ones.
/// Throws std::invalid_argument, with both lists, if `known` lacks a class or if a name is in a list twice.
ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes);

/// Returns "cat, dog, emu", with at most the first ten: "a, b, …, j and 990 more".
std::string listed_classes(const std::vector<std::string>& names);

}  // namespace flowtrain
