#pragma once
// When a run has come to what it can: [early_stop].

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/config/config.h"
#include "stages/compute.h"

namespace flowtrain {

/// When a figure counts as better than the best before it.
struct Improvement {
  std::string metric;       ///< of val.metrics, or loss
  double min_delta = 0;     ///< by which it must be better
  bool relative = false;    ///< min_delta is a share of the best figure's magnitude
  bool lower_wins = false;  ///< the lower figure is better

  /// Keys `metric`, `mode`, `min_delta` and `relative` of `table`; an empty metric is the ruling one.
  static Improvement from(const Settings& table, const Config& config);
  /// Takes over the figure where it is better; false where it is not, not finite, or missing.
  bool enter(std::optional<double>& best, const Figures& figures) const;
};

/// What the rule remembers, in snapshots too.
struct EarlyStopState {
  std::optional<double> best;  ///< the figure that the later ones must beat
  std::uint64_t since = 0;     ///< validations that did not
};

struct EarlyStop {
  Improvement improvement = {};
  std::uint64_t patience = 0;  ///< validations without an improvement that end the run; 0 = it goes on
  double hours = 0;            ///< of training, over all starts; 0 = no limit

  static EarlyStop from(const Config& config);

  /// Enters a validation's figures.
  void enter(EarlyStopState& state, const Figures& figures) const;
  /// Why the run is over, for people; empty where it is not.
  std::string reason(const EarlyStopState& state) const;
  bool out_of_time(double elapsed_s) const { return hours > 0 && elapsed_s >= hours * 3600; }
  std::string out_of_time_text() const;
};

}  // namespace flowtrain
