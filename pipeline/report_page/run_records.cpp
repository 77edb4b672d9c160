#include "pipeline/report_page/run_records.h"

#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_lines = 100;  // of warnings and of bad samples

// The cells of CSV text (RFC 4180), line by line.
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

std::string text_of_file(const std::filesystem::path& file, std::size_t most) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) return {};
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

ordered_json json_of_file(const std::filesystem::path& file) {
  auto json = ordered_json::parse(text_of_file(file), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? ordered_json() : json;
}

ordered_json confusion_of(const std::filesystem::path& file) {
  constexpr std::size_t most_classes = 1000;
  const auto lines = cells_of(text_of_file(file));
  if (lines.size() < 2 || lines[0].size() != lines.size() || lines.size() > most_classes) return nullptr;
  ordered_json classes = ordered_json::array(), rows = classes;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    classes.push_back(lines[0][i]);
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

ordered_json warnings_of(const std::filesystem::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::uint64_t count = 0;
  std::vector<ordered_json> lines;
  std::map<std::string, std::size_t> places;
  for (std::string line; std::getline(in, line);) {
    // "2026-11-26 05:24:02.182 warning text"
    std::istringstream words(line);
    std::string day, time, level;
    if (!(words >> day >> time >> level) || (level != "warning" && level != "warn" && level != "error")) continue;
    std::string text;
    std::getline(words >> std::ws, text);
    ++count;
    const auto [place, added] = places.emplace(text, lines.size());
    if (added)
      lines.push_back({{"time", concat(day, " ", time)}, {"level", level}, {"text", text}, {"times", 1}});
    else
      lines[place->second]["times"] = lines[place->second]["times"].get<std::uint64_t>() + 1;
  }
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return {{"count", count}, {"lines", lines}};
}

ordered_json bad_samples_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::uint64_t count = 0;
  ordered_json lines = ordered_json::array();
  for (std::string line; std::getline(in, line);) {
    auto entry = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.is_object()) continue;
    ++count;
    if (lines.size() < most_lines) lines.push_back(std::move(entry));
  }
  return {{"count", count}, {"lines", std::move(lines)}};
}

}  // namespace flowtrain
