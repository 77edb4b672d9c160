#pragma once
// The count of what a field cuts short, which nobody would miss otherwise.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Counts how often records are cut at a field's bound, each time that a row is made of one, and warns of them. Any
/// thread.
class CutCount {
 public:
  /// `what` names them: "texts of more than 512 tokens"; `hint` says what can be done. Where the configuration gives
  /// the key `choice`, it wants them to be cut; null: there is no choice.
  CutCount(const Settings& settings, std::string what, std::string hint, const char* choice);

  /// Counts one. A warning tells of the first one, unless they are to be cut, and of the 10th, the 100th and so on.
  void add() const;

 private:
  std::string place_, what_, hint_;
  bool wanted_;
  std::unique_ptr<std::atomic<std::uint64_t>> count_ = std::make_unique<std::atomic<std::uint64_t>>(0);
};

}  // namespace flowtrain
