#pragma once
// Reads a run's config.toml without opening the files that it names.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/base/config/document.h"

namespace flowtrain {

/// Returns the stored configuration; nothing if it cannot be read.
std::optional<Document> stored_document(const std::filesystem::path& run);

/// Returns a value by its dotted name; nothing if it is missing or has another type.
template <class Type>
std::optional<Type> stored_value(const std::optional<Document>& config, const std::string& key) {
  if (!config) return {};
  const auto found = config->values.find(key);
  if (found == config->values.end()) return {};
  const auto* value = std::get_if<Type>(&found->second.value);
  return value ? std::optional(*value) : std::nullopt;
}

/// A key whose value differs between runs, with each run's value as TOML; empty: that run does not have the key, or its
/// configuration cannot be read, which is no difference.
struct DifferingKey {
  std::string key;
  std::vector<std::optional<std::string>> values;
};

/// Returns the keys in which documents differ, in the order of names.
std::vector<DifferingKey> differing_keys(const std::vector<std::optional<Document>>& documents);

}  // namespace flowtrain
