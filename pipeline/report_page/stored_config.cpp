#include "pipeline/report_page/stored_config.h"

#include <map>
#include <utility>

namespace flowtrain {

using nlohmann::ordered_json;

std::optional<Document> stored_document(const std::filesystem::path& run) try {
  return read_document(run / "config.toml");
} catch (const UserError&) {
  return std::nullopt;
}

ordered_json differing_keys(const std::vector<std::optional<Document>>& documents) {
  std::map<std::string, std::vector<ordered_json>> values;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!documents[i]) continue;
    for (auto& [key, written] : documents[i]->values) {
      auto& of_key = values.try_emplace(key, documents.size()).first->second;
      of_key[i] = to_toml(written.value);
    }
  }
  ordered_json differences = ordered_json::array();
  for (auto& [key, of_runs] : values) {
    const ordered_json* first = nullptr;
    bool equal = true;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (!documents[i]) continue;
      if (!first) first = &of_runs[i];
      equal = equal && of_runs[i] == *first;
    }
    if (!equal) differences.push_back({{"key", key}, {"values", of_runs}});
  }
  return differences;
}

}  // namespace flowtrain
