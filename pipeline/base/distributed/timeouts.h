#pragma once
// How fast the loss of a rank is noticed: all follows from dist.timeout, within which every rank is to have ended.

#include <algorithm>
#include <chrono>

#include "sampling/core/settings.h"

namespace flowtrain {

struct Timeouts {
  using Span = std::chrono::milliseconds;

  explicit Timeouts(Span whole) : timeout(whole) {}
  /// [dist]
  explicit Timeouts(const Settings& dist) : Timeouts(Span(static_cast<Span::rep>(dist.real("timeout") * 1e3))) {}

  Span timeout;                                          ///< also how long ranks wait for each other at the start
  Span limit = timeout / 2;                              ///< of a collective, and of a heart's silence
  Span beat = std::min<Span>(Span(1000), timeout / 16);  ///< from heartbeat to heartbeat
  Span patience = 4 * beat;                              ///< until the news of a death have reached everyone
  Span grace = std::min<Span>(Span(6000), timeout / 4);  ///< for a rank that knows of a failure to end by itself
};

}  // namespace flowtrain
