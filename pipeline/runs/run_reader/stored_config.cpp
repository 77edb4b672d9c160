#include "pipeline/runs/run_reader/stored_config.h"

#include <map>
#include <utility>

namespace flowtrain {

std::optional<Document> stored_document(const std::filesystem::path& run) try {
  return read_document(run / "config.toml");
} catch (const UserError&) {
  return std::nullopt;
}

std::vector<DifferingKey> differing_keys(const std::vector<std::optional<Document>>& documents) {
  std::map<std::string, std::vector<std::optional<std::string>>> values;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!documents[i]) continue;
    for (auto& [key, written] : documents[i]->values)
      values.try_emplace(key, documents.size()).first->second[i] = to_toml(written.value);
  }
  std::vector<DifferingKey> differing;
  for (auto& [key, of_runs] : values) {
    const std::optional<std::string>* first = nullptr;
    bool equal = true;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (!documents[i]) continue;
      if (!first) first = &of_runs[i];
      equal = equal && of_runs[i] == *first;
    }
    if (!equal) differing.push_back({key, of_runs});
  }
  return differing;
}

}  // namespace flowtrain
