#include "sampling/field_parts.h"

#include <algorithm>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Returns whether the table's field is only a target: a class of the record, several, or a transcript as the `label`.
bool is_target(const Settings& field) {
  return field.text("as") == "label" || field.text("as") == "labels" || field.text("name") == "label";
}

}  // namespace

FieldParts parts_of(const Settings& field) {
  FieldParts parts;
  const auto add = [&](const char* key, std::vector<std::string>& to) {
    if (field.has(key)) to.push_back(field.text(key));
  };
  for (const char* const key : input_part_keys) add(key, is_target(field) ? parts.classes : parts.inputs);
  for (const char* const key : target_part_keys) add(key, parts.targets);
  return parts;
}

std::vector<std::string> part_names_of(const Settings& field) {
  auto [names, classes, targets] = parts_of(field);
  names.insert(names.end(), classes.begin(), classes.end());
  names.insert(names.end(), targets.begin(), targets.end());
  std::erase(names, "");
  return names;
}

std::vector<std::string> target_fields_of(const Settings& field) {
  if (is_target(field)) return {field.text("name")};
  return {"label", "label_bytes"};
}

PartForm part_form(const Settings& field, const char* key, const Dataset& dataset) {
  auto parts = dataset.parts();
  const std::string& name = field.text(key);
  if (name.empty() || name == image_part) return {image_part, Encoding::image};
  const auto found = std::ranges::find(parts, name, &PartForm::name);
  if (found != parts.end()) return std::move(*found);
  std::vector<std::string> known{image_part};
  for (auto& part : parts) known.push_back(part.name);
  const auto near = nearest(name, known);
  throw field.error(key, "the data set has no part '" + name + "'", ExitCode::usage,
                    concat(near.empty() ? "" : "did you mean '" + near + "'? ", "its parts: ", join(known)));
}

Settings without_missing_targets(const Settings& field, const Dataset& dataset) {
  Settings kept = field;
  const auto parts = dataset.parts();
  for (const char* const key : target_part_keys)
    if (field.has(key) && std::ranges::find(parts, field.text(key), &PartForm::name) == parts.end())
      kept.set(key, std::string(), field.origin(key));
  return kept;
}

}  // namespace flowtrain
