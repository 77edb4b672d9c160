#pragma once
// Which samples an iteration was trained on: for the hash of the order, the log of bad samples, and error messages.

#include <cstdint>
#include <map>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/core/group.h"
#include "stages/loader/bad_samples.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Accounts for the samples of one iteration after the other.
class SampleAccount {
 public:
  SampleAccount(Loader& loader, Group& group, BadSamples& bad_samples, RunState& state);

  /// A micro-batch of the iteration under way. Returns how many rows it has for statistics, over all processes as far
  /// as this one knows: rank 0 counts all, the others none.
  std::size_t add(const Slab& slab);
  /// Bad samples that this process found in the iteration.
  std::size_t bad() const { return bad_.size(); }
  /// At the iteration's end: the samples go into the order's hash, those that anyone found bad into the log. A
  /// collective where `all` counts bad samples. Throws UserError(data) beyond data.max_bad.
  void settle(std::uint64_t iteration, const StepFlags& all);
  /// Forgets the iteration under way.
  void discard();

  /// The records of the last micro-batch, of all processes: which of them is to blame is not known.
  std::vector<std::uint64_t> last_batch() const;
  /// Likewise of the same micro-batch of an earlier iteration, as drawn.
  std::vector<std::uint64_t> drawn(std::uint64_t iteration) const;

 private:
  std::vector<StreamRow> rows_of_all(const Slab& slab) const;
  std::uint64_t trained_on(const StreamRow& row) const;

  Loader& loader_;
  Group& group_;
  BadSamples& bad_samples_;
  RunState& state_;
  Ticket last_;                                         // micro-batch
  std::vector<StreamRow> rows_;                         // of the iteration; on rank 0 of all processes, else none
  std::vector<BadSample> bad_;                          // that this process found in it
  std::map<std::uint64_t, std::uint64_t> substitutes_;  // by position; of several attempts the last
};

}  // namespace flowtrain
