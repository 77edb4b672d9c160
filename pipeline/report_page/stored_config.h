#pragma once
// What a run's config.toml says, without opening what it names.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/config/document.h"

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

/// The keys whose values differ between the runs: [{"key":"optim.lr","values":["0.05","0.1",null]}], in the order of
/// names; null: that run does not have the key. The order of the values is that of `documents`; a run whose
/// configuration cannot be read has null everywhere, which is no difference.
nlohmann::ordered_json differing_keys(const std::vector<std::optional<Document>>& documents);

}  // namespace flowtrain
