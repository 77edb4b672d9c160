#pragma once
// Finds the lines of metrics.jsonl that were not shown yet.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace flowtrain::watch {

/// A resume cuts metrics.jsonl back, and its lines come again from the first one on. Those up to the iteration that was
/// reached are known, until the line that says where the run goes on.
class NewLines {
 public:
  /// The lines come again.
  void restart();
  /// Whether the next line is to be shown.
  bool takes(const nlohmann::ordered_json& line);

 private:
  std::uint64_t reached_ = 0;              // the greatest iteration that was shown
  std::optional<std::uint64_t> known_to_;  // empty: all lines are new
  std::multiset<std::uint64_t> resumes_;   // iterations of the resumes that were shown
  std::multiset<std::uint64_t> awaited_;   // resumes of these that have not come again
};

}  // namespace flowtrain::watch
