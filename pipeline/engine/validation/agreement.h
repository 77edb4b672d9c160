#pragma once
// Whether ranks that validate together go on: they must all leave at the same batch.

#include <chrono>
#include <cstdint>
#include <optional>

#include "stages/core/group.h"

namespace flowtrain {

/// The agreement of all ranks on whether and by which signal to end.
class Agreement {
 public:
  explicit Agreement(Group& group) : group_(group) {}

  /// Asked again and again, equally often by all ranks, which get the same answer: the signal that one of them is to
  /// end by, SIGINT or SIGTERM; nothing while there is none, and the same for good once there is. `own`: any signal
  /// that this rank is to end by. A collective about twice a second; a process alone answers itself at once.
  std::optional<int> ask(std::optional<int> own);

 private:
  Group& group_;
  std::optional<int> agreed_;
  std::uint64_t asked_ = 0;                     // questions since the last agreement
  std::uint64_t agrees_after_ = 1;              // questions until the next one
  std::chrono::steady_clock::time_point when_;  // the last one
};

}  // namespace flowtrain
