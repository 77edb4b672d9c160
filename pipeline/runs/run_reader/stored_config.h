#pragma once
// Reads a run's config.toml without opening the files that it names.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/base/config/document.h"

namespace flowtrain {

/// The stored configuration; nothing where it cannot be read.
std::optional<Document> stored_document(const std::filesystem::path& run);

/// A value of it by its dotted name; nothing where it is not there, or of another type.
template <class Type>
std::optional<Type> stored_value(const std::optional<Document>& config, const std::string& key) {
  if (!config) return {};
  const auto found = config->values.find(key);
  if (found == config->values.end()) return {};
  const auto* value = std::get_if<Type>(&found->second.value);
  return value ? std::optional(*value) : std::nullopt;
}

/// A key whose value is not the same in all runs, and the value of each as TOML, in the runs' order; nothing: that run
/// does not have the key, or its configuration cannot be read, which is no difference.
struct DifferingKey {
  std::string key;
  std::vector<std::optional<std::string>> values;
};

/// Returns the keys in which documents differ, in the order of names.
std::vector<DifferingKey> differing_keys(const std::vector<std::optional<Document>>& documents);

}  // namespace flowtrain
