#include "pipeline/telemetry/metrics_table.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "sampling/core/csv.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

std::string cell(const ordered_json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string metrics_csv(const std::filesystem::path& path, const std::string& kind) {
  std::ifstream file(path);
  if (!file)
    throw UserError(ExitCode::data, concat("cannot read ", path.string(), ": ", std::strerror(errno)),
                    "expected the folder of a run");
  std::set<std::string> kinds;
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    const auto entry = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.is_object() || !entry.contains("kind") || !entry["kind"].is_string()) continue;
    kinds.insert(entry["kind"]);
    if (entry["kind"] != kind) continue;
    auto& row = rows.emplace_back();
    for (auto& [key, value] : entry.items()) {
      if (key == "kind") continue;
      const auto [place, added] = places.emplace(key, columns.size());
      if (added) columns.push_back(key);
      if (row.size() <= place->second) row.resize(place->second + 1);
      row[place->second] = cell(value);
    }
  }
  if (rows.empty())
    throw UserError(ExitCode::usage, concat(path.string(), " has no lines of kind '", kind, "'"),
                    "there are: " + (kinds.empty() ? "nothing yet" : join(kinds)));
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      if (i < cells.size()) append_csv_cell(text, cells[i]);
    }
    text += '\n';
  };
  append(columns);
  for (auto& row : rows) append(row);
  return text;
}

}  // namespace flowtrain
