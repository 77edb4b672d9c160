#pragma once
// A rate that is lowered when validation no longer improves: [[schedule]] name = "plateau".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/config.h"
#include "pipeline/validation/early_stop.h"
#include "stages/compute.h"

namespace flowtrain {

/// What a rule remembers, in snapshots too.
struct PlateauState {
  std::optional<double> best;  ///< the figure that the later ones must beat
  std::uint64_t since = 0;     ///< validations that did not
  std::uint64_t cooldown = 0;  ///< validations still to come that do not count
  double factor = 1;           ///< what has become of the rate
};

/// As torch.optim.lr_scheduler.ReduceLROnPlateau, by validations in place of epochs.
struct Plateau {
  Improvement improvement = {};
  std::uint64_t patience = 10;  ///< validations without an improvement that are let pass
  std::uint64_t cooldown = 0;
  double decay_rate = 10, min_factor = 0;
  std::string optim = {};     ///< label; empty: all
  std::string target = "lr";  ///< lr, momentum or weight_decay

  /// All plateaus of the configuration, in their order.
  static std::vector<Plateau> all(const Config& config);

  /// Enters a validation's figures; true where the factor changed.
  bool enter(PlateauState& state, const Figures& figures) const;
  void apply(const PlateauState& state, const std::string& label, Rates& rates) const;
};

}  // namespace flowtrain
