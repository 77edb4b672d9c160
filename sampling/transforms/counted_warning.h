#pragma once
// Warnings of what a field does to records again and again, which nobody would miss otherwise.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Counts how often something happens to a record, each time that a row is made of one, and warns of it. Any thread.
class CountedWarning {
 public:
  /// Warns `first` the first time, unless it is empty, and `later` with the number of times at the 10th, the 100th and
  /// so on.
  CountedWarning(std::string first, std::string later);

  /// Counts one.
  void add() const;

 private:
  std::string first_, later_;
  std::unique_ptr<std::atomic<std::uint64_t>> count_ = std::make_unique<std::atomic<std::uint64_t>>(0);
};

/// Returns the warning of records that are cut at the bound `max` of a field. `what` names them: "texts of more than
/// 512 tokens"; `hint` says what can be done. Where the configuration gives the key `choice`, it wants them to be cut,
/// and only their number is told; null: there is no choice.
CountedWarning cut_warning(const Settings& settings, const std::string& what, const std::string& hint,
                           const char* choice);

}  // namespace flowtrain
