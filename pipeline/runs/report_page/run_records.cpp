#include "pipeline/runs/report_page/run_records.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/run_reader/appended_lines.h"
#include "sampling/core/csv.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_lines = 100;  // limit of bad samples

// Returns the cells of CSV text (RFC 4180), line by line.
std::vector<std::vector<std::string>> cells_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      const bool closes = c == '"' && (i + 1 == text.size() || text[i + 1] != '"');
      if (closes) {
        quoted = false;
      } else {
        cell += c;
        i += c == '"' ? 1 : 0;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      line.push_back(std::exchange(cell, {}));
      if (c == '\n') lines.push_back(std::exchange(line, {}));
    } else if (c != '\r') {
      cell += c;
    }
  }
  return lines;
}

}  // namespace

ordered_json environment_of(const std::filesystem::path& file) {
  auto environment = json_of_file(file);
  if (!environment.is_object()) return nullptr;
  const auto gpus = environment.find("gpus");
  if (gpus == environment.end()) return environment;
  if (!gpus->is_array()) *gpus = ordered_json::array();
  std::erase_if(gpus->get_ref<ordered_json::array_t&>(), [](auto& gpu) { return !gpu.is_object(); });
  return environment;
}

ordered_json drawable_graph(const ordered_json& graph) {
  const auto have_texts = [&](const char* list, std::initializer_list<const char*> members) {
    const auto& all = member_of(graph, list);
    const auto fits = [&](auto& each) {
      return std::ranges::all_of(members, [&](const char* member) { return text_in(each, member).has_value(); });
    };
    return all.is_array() && std::ranges::all_of(all, fits);
  };
  return have_texts("nodes", {"name", "label"}) && have_texts("edges", {"from", "to", "label"}) ? graph : nullptr;
}

ordered_json confusion_of(const std::filesystem::path& file) {
  constexpr std::size_t most_classes = 1000;
  const auto lines = cells_of(text_of_file(file));
  if (lines.size() < 2 || lines[0].size() != lines.size() || lines.size() > most_classes) return nullptr;
  ordered_json classes = ordered_json::array(), rows = classes;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    classes.push_back(csv_text(lines[0][i]));
    if (lines[i].size() != lines.size()) return nullptr;
    ordered_json& row = rows.emplace_back(ordered_json::array());
    for (std::size_t j = 1; j < lines.size(); ++j) {
      const auto& cell = lines[i][j];
      std::uint64_t count = 0;
      if (std::from_chars(cell.data(), cell.data() + cell.size(), count).ec != std::errc{}) return nullptr;
      row.push_back(count);
    }
  }
  return {{"classes", std::move(classes)}, {"rows", std::move(rows)}};
}

ordered_json bad_samples_of(const std::filesystem::path& file) {
  std::uint64_t count = 0;
  ordered_json lines = ordered_json::array();
  const auto take = [&](std::string_view line) {
    auto entry = parse_json(line);
    if (!entry.is_object()) return;
    ++count;
    if (lines.size() < most_lines) lines.push_back(std::move(entry));
  };
  for_each_line_of(file, take, [&] {
    count = 0;
    lines.clear();
  });
  return {{"count", count}, {"lines", std::move(lines)}};
}

}  // namespace flowtrain
