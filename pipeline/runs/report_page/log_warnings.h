#pragma once
// Reads the warnings and errors of train.log for a page.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/runs/run_reader/appended_lines.h"

namespace flowtrain {

/// Reads the log once, and then only appended lines. It keeps the last 100 different texts. Used by one thread.
class LogWarnings {
 public:
  explicit LogWarnings(std::filesystem::path log) : log_(std::move(log)) {}

  /// Reads new lines.
  void update();
  /// {"count":…,"lines":[{"time":"…","level":"warning","text":"…","times":1},…]}: `count` of all that were read; each
  /// text once, with the time when it came first and how often, in the order of these times.
  nlohmann::ordered_json json() const;

 private:
  struct Text {
    std::string time, level, text;
    std::uint64_t times = 0;
    std::uint64_t last = 0;  // the number of its last occurrence among all warnings
  };

  void add(std::string_view line);

  const std::filesystem::path log_;
  ReadMark mark_;
  std::vector<Text> texts_;  // in the order of their first occurrence
  std::uint64_t count_ = 0;
};

}  // namespace flowtrain
