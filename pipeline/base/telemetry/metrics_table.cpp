#include "pipeline/base/telemetry/metrics_table.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "pipeline/base/telemetry/json_text.h"
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

std::string row_of(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) append_csv_cell(i > 0 ? row += ',' : row, cells[i]);
  return row += '\n';
}

// Calls `visit` with each entry of the first `most` lines, and returns the number of lines.
std::uint64_t each_entry(std::ifstream& file, std::uint64_t most,
                         const std::function<void(const ordered_json&)>& visit) {
  std::uint64_t lines = 0;
  for (std::string line; lines < most && std::getline(file, line); ++lines) {
    const auto entry = parse_json(line);
    if (entry.is_object() && entry.contains("kind") && entry["kind"].is_string()) visit(entry);
  }
  return lines;
}

}  // namespace

void write_metrics_csv(const std::filesystem::path& path, const std::string& kind,
                       const std::function<void(const std::string& line)>& write) {
  std::ifstream file(path);
  if (!file)
    throw UserError(ExitCode::data, concat("cannot read ", path.string(), ": ", std::strerror(errno)),
                    "expected the folder of a run");
  // The file is read twice: the first line needs all columns, and the whole file may not fit into memory.
  std::set<std::string> kinds;
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> places;
  const auto lines = each_entry(file, std::numeric_limits<std::uint64_t>::max(), [&](const ordered_json& entry) {
    kinds.insert(entry["kind"]);
    if (entry["kind"] != kind) return;
    for (auto& [key, value] : entry.items())
      if (key != "kind" && places.emplace(key, columns.size()).second) columns.push_back(key);
  });
  if (!kinds.contains(kind))
    throw UserError(ExitCode::usage, concat(path.string(), " has no lines of kind '", kind, "'"),
                    "there are: " + (kinds.empty() ? "nothing yet" : join(kinds)));
  write(row_of(columns));
  file.clear();
  file.seekg(0);
  each_entry(file, lines, [&](const ordered_json& entry) {
    if (entry["kind"] != kind) return;
    std::vector<std::string> cells(columns.size());
    for (auto& [key, value] : entry.items())
      if (const auto place = places.find(key); place != places.end()) cells[place->second] = cell(value);
    write(row_of(cells));
  });
}

}  // namespace flowtrain
