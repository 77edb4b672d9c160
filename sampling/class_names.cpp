#include "sampling/class_names.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/dataset.h"

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

bool is_number(const std::string& name) { return parse_number<std::int64_t>(name).has_value(); }

std::vector<bool> occurring_classes(const Dataset& dataset) {
  const auto classes = dataset.classes().size();
  const std::vector<bool> all(classes, true);
  if (dataset.has_boxes()) return all;
  std::vector<bool> occurring(classes);
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const auto label = dataset.label(id);
    if (label < 0 || static_cast<std::uint64_t>(label) >= classes) return all;
    occurring[static_cast<std::size_t>(label)] = true;
  }
  return occurring;
}

ClassPlaces places_among(const std::vector<std::string>& known, const std::vector<std::string>& classes,
                         const std::function<std::vector<bool>()>& occurring) {
  if (classes == known) return as_labels(known, known.size());
  const bool are_numbered = has_only_numbers(classes);
  if (are_numbered && classes.size() <= known.size() && std::ranges::none_of(known, is_number))
    return as_labels(known, classes.size());
  const auto labels = labels_by_name(known), own = labels_by_name(classes);
  const auto needed = are_numbered && occurring ? occurring() : std::vector<bool>(classes.size(), true);
  ClassPlaces places;
  std::vector<std::string> unknown;
  std::vector<bool> found(known.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto& name = classes[i];
    const auto place = labels.find(name);
    if (needed[i] && place == labels.end()) unknown.push_back(name);
    places.labels.push_back(needed[i] && place != labels.end() ? place->second : -1);
  }
  if (!unknown.empty())
    throw std::invalid_argument(concat("training does not know ", unknown.size() == 1 ? "the class " : "the classes ",
                                       listed_classes(unknown), " (", both_lists(known, classes), ")"));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!needed[i]) continue;
    if (labels.at(classes[i]) == ambiguous || own.at(classes[i]) == ambiguous)
      throw std::invalid_argument(concat("two classes are called '", classes[i],
                                         "', so this name does not identify a label (", both_lists(known, classes),
                                         ")"));
    found[static_cast<std::size_t>(places.labels[i])] = true;
  }
  for (std::size_t i = 0; i < known.size(); ++i)
    if (!found[i]) places.lacking.push_back(known[i]);
  return places;
}

const std::vector<std::string>& given_class_names(const Settings& settings) {
  const auto& names = settings.texts("class_names");
  for (const auto& [name, label] : labels_by_name(names))
    if (label == ambiguous)
      throw settings.error("class_names", concat("a name occurs twice: '", name, "'"), ExitCode::usage,
                           "give each class a name of its own");
  return names;
}

std::string listed_classes(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  const auto list = join(std::span(names).first(std::min(most, names.size())));
  return names.size() > most ? concat(list, " and ", names.size() - most, " more") : list;
}

}  // namespace flowtrain
