#pragma once
// Compares the classes of two data sets.

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::vector<std::int32_t> labels;  ///< the label that `known` gives to each of its classes, in order; -1: none
  std::vector<std::string> lacking;  ///< the known classes that the data set lacks
};

/// Returns whether the name is an integer, as "3".
bool is_number(const std::string& name);

class Dataset;
class Settings;

/// Returns whether records of each class occur. All are said to occur if the records' labels do not tell.
std::vector<bool> occurring_classes(const Dataset& dataset);

/// Finds each of `classes` among `known`, by name. Of `classes` that have only numbers for names, which may be those of
/// labels up to the largest, only those are needed that `occurring` returns true for (null: all); the others get -1.
/// If no known class is called by a number, their labels are used as they are: they may be fewer than `known`.
/// Throws std::invalid_argument, with both lists, if `known` lacks a class or if a name is in a list twice.
ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes,
                         const std::function<std::vector<bool>()>& occurring = {});

/// Returns the names that the key `class_names` gives. Throws the key's error if a name occurs twice.
const std::vector<std::string>& given_class_names(const Settings& settings);

/// Returns "cat, dog, emu", with at most the first ten: "a, b, …, j and 990 more".
std::string listed_classes(const std::vector<std::string>& names);

}  // namespace flowtrain
