#pragma once
// What a run must remember beside tensors, so that a resumed one goes on as if nothing had happened: state.json.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "pipeline/snapshot/hash.h"

namespace flowtrain {

/// A validation's place in the ranking that chooses snapshots to keep.
struct Ranked {
  std::uint64_t iteration;
  double value;  ///< of the ruling metric
};

/// State at the end of an iteration. Positions in the data are not here: they follow from the iteration.
struct RunState {
  std::uint64_t iteration = 0;
  std::uint64_t samples_per_epoch = 0;   ///< of the data set at that time; another size means other data
  Xxh64 order;                           ///< over the ids of all samples consumed, as little-endian u64
  std::deque<double> losses;             ///< the last 20: `loss_avg`
  std::vector<Ranked> best;              ///< best first
  std::uint64_t validation_batches = 0;  ///< consumed from the validation line so far
  bool validation_pending = false;       ///< interrupted before the end of the validation after it
  std::set<std::uint64_t> bad_samples;   ///< ids
  std::set<std::uint64_t> bad_validation_samples;
  int world = 1;                         ///< processes that trained together
  double elapsed_s = 0;                  ///< training time over all starts
  std::uint64_t nonfinite = 0;           ///< iterations whose loss or gradients were not finite
  std::uint64_t nonfinite_in_a_row = 0;  ///< of these, the last ones
  double lr_scale = 1;                   ///< what rollbacks have made of the learning rate
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  std::uint64_t rollback_limit = no_limit;  ///< later snapshots have failed: the next rollback does not take them

  /// What of the run's state its snapshot holds: snapshot.save.
  std::vector<std::string> saved = parts();
  static std::vector<std::string> parts() { return {"params", "optim", "schedule", "random"}; }
  bool has_saved(const std::string& part) const;

  /// Without "schedule" in `saved`, what rollbacks have made of the learning rate is left out. (There is nothing to leave
  /// out of "random": all that is drawn follows from seed and position.)
  std::string to_json() const;
  /// Throws UserError(snapshot) for anything that to_json does not write.
  static RunState from_json(const std::string& text);
};

}  // namespace flowtrain
