#pragma once
// Time limits for the loss of a rank. All follow from dist.timeout, within which every rank must have ended.

#include <algorithm>
#include <chrono>

#include "sampling/core/settings.h"

namespace flowtrain {

struct Timeouts {
  using Span = std::chrono::milliseconds;

  explicit Timeouts(Span whole) : timeout(whole) {}
  /// [dist]
  explicit Timeouts(const Settings& dist) : Timeouts(Span(static_cast<Span::rep>(dist.real("timeout") * 1e3))) {}

  Span timeout;              ///< limit for the loss of a rank; ranks also wait so long for each other at the start
  Span limit = timeout / 2;  ///< limit of a collective, and of silence between heartbeats
  Span beat = std::min<Span>(Span(1000), timeout / 16);  ///< time from heartbeat to heartbeat
  Span patience = 4 * beat;                              ///< time until the news of a death has reached everyone
  Span grace = std::min<Span>(Span(6000), timeout / 4);  ///< time for a rank that knows of a failure to end by itself
};

}  // namespace flowtrain
