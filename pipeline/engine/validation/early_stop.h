#pragma once
// When a run has come to what it can: [early_stop].

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/values/improvement.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// What the rule remembers, in snapshots too.
struct EarlyStopState {
  std::optional<BestValue> best;  ///< the value that later ones must beat
  std::uint64_t since = 0;        ///< validations that did not
};

struct EarlyStop {
  Improvement improvement = {};
  std::uint64_t patience = 0;  ///< validations without an improvement that end the run; 0 = it goes on
  double hours = 0;            ///< of training, over all starts; 0 = no limit

  static EarlyStop from(const Config& config);

  /// Enters a validation's metrics.
  void record(EarlyStopState& state, const Scalars& scalars) const;
  /// Why the run is over, for people; empty where it is not.
  std::string reason(const EarlyStopState& state) const;
  bool out_of_time(double elapsed_s) const { return hours > 0 && elapsed_s >= hours * 3600; }
  std::string out_of_time_text() const;

 private:
  /// A resumed run may have another rule: what was counted for another metric says nothing.
  bool compares_another(const EarlyStopState& state) const { return state.best && state.best->of != improvement.of; }
};

}  // namespace flowtrain
