#include "sampling/class_names.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr std::int32_t ambiguous = -1;

/// Returns the label of each name, or `ambiguous` if the name occurs twice.
std::unordered_map<std::string_view, std::int32_t> labels_by_name(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::int32_t> labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [place, is_new] = labels.try_emplace(names[i], static_cast<std::int32_t>(i));
    if (!is_new) place->second = ambiguous;
  }
  return labels;
}

std::string both_lists(const std::vector<std::string>& known, const std::vector<std::string>& classes) {
  return concat("its ", classes.size(), " classes: ", listed_classes(classes), "; the ", known.size(),
                " of training: ", listed_classes(known));
}

ClassPlaces as_labels(const std::vector<std::string>& known, std::size_t classes) {
  ClassPlaces places;
  places.labels.resize(classes);
  std::iota(places.labels.begin(), places.labels.end(), 0);
  places.lacking.assign(known.begin() + static_cast<std::ptrdiff_t>(classes), known.end());
  return places;
}

}  // namespace

std::vector<std::string> numbered_classes(std::size_t count) {
  std::vector<std::string> names(count);
  for (std::size_t i = 0; i < count; ++i) names[i] = std::to_string(i);
  return names;
}

bool has_only_numbers(const std::vector<std::string>& names) { return names == numbered_classes(names.size()); }

ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes) {
  if (classes == known) return as_labels(known, known.size());
  const auto labels = labels_by_name(known), own = labels_by_name(classes);
  std::vector<std::string> unknown;
  for (auto& name : classes)
    if (!labels.contains(name)) unknown.push_back(name);
  if (!unknown.empty()) {
    const bool counts_fit = has_only_numbers(classes) ? classes.size() <= known.size()
                                                      : has_only_numbers(known) && classes.size() == known.size();
    if (counts_fit) return as_labels(known, classes.size());
    throw std::invalid_argument(concat("training does not know ", unknown.size() == 1 ? "the class " : "the classes ",
                                       listed_classes(unknown), " (", both_lists(known, classes), ")"));
  }
  ClassPlaces places;
  for (auto& name : classes) {
    if (labels.at(name) == ambiguous || own.at(name) == ambiguous)
      throw std::invalid_argument(concat("two classes are called '", name,
                                         "', so this name does not identify a label (", both_lists(known, classes),
                                         ")"));
    places.labels.push_back(labels.at(name));
  }
  for (auto& name : known)
    if (!own.contains(name)) places.lacking.push_back(name);
  return places;
}

std::string listed_classes(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  const auto list = join(std::span(names).first(std::min(most, names.size())));
  return names.size() > most ? concat(list, " and ", names.size() - most, " more") : list;
}

}  // namespace flowtrain
