#pragma once
// Finds the lines of metrics.jsonl that were not shown yet.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace flowtrain::watch {

/// Finds new lines after a resume, which shortens metrics.jsonl so that its lines come again from the first one on.
/// Lines up to the reached iteration are known, until the line that says where the run continues.
class NewLines {
 public:
  /// Expects the lines to come again.
  void restart();
  /// Returns whether the next line is to be shown.
  bool takes(const nlohmann::ordered_json& line);

 private:
  std::uint64_t reached_ = 0;              // the greatest iteration that was shown
  std::optional<std::uint64_t> known_to_;  // empty: all lines are new
  std::multiset<std::uint64_t> resumes_;   // iterations of the resumes that were shown
  std::multiset<std::uint64_t> awaited_;   // resumes of these that have not come again
};

}  // namespace flowtrain::watch
