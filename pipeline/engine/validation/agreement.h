#pragma once
// Ranks that validate together agree on when to stop, because all must stop at the same batch.

#include <chrono>
#include <cstdint>
#include <optional>

#include "stages/core/group.h"

namespace flowtrain {

/// Agrees with the other ranks on whether and by which signal to end.
class Agreement {
 public:
  explicit Agreement(Group& group) : group_(group) {}

  /// Returns the signal by which one of the ranks is to end, SIGINT or SIGTERM, and from then on always this one;
  /// nothing while there is none. All ranks ask equally often and get the same answers. `own` is the signal of this
  /// rank. A collective about twice a second; a single process gets its answer at once.
  std::optional<int> ask(std::optional<int> own);

 private:
  Group& group_;
  std::optional<int> agreed_;
  std::uint64_t asked_ = 0;                     // questions since the last agreement
  std::uint64_t agrees_after_ = 1;              // questions until the next one
  std::chrono::steady_clock::time_point when_;  // the time of the last one
};

}  // namespace flowtrain
