#pragma once
// Decides when a run stops early: [early_stop].

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/values/improvement.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// The state of the rule, which snapshots hold.
struct EarlyStopState {
  std::optional<BestValue> best;  ///< The value that later ones must beat.
  std::uint64_t since = 0;        ///< The number of validations since then.
};

/// The rule for an early stop.
struct EarlyStop {
  Improvement improvement = {};
  std::uint64_t patience = 0;  ///< The validations without an improvement that end the run; 0: no limit.
  double hours = 0;            ///< The longest training time over all starts; 0: no limit.

  static EarlyStop from(const Config& config);

  /// Adds a validation's metrics.
  void record(EarlyStopState& state, const Scalars& scalars) const;
  /// Returns why the run is over, for people; empty if it is not.
  std::string reason(const EarlyStopState& state) const;
  bool out_of_time(double elapsed_s) const { return hours > 0 && elapsed_s >= hours * 3600; }
  std::string out_of_time_text() const;

 private:
  /// Returns whether the state belongs to another metric, because a resumed run may have another rule.
  bool compares_another(const EarlyStopState& state) const { return state.best && state.best->of != improvement.of; }
};

}  // namespace flowtrain
