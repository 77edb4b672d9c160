#pragma once
// Records which samples an iteration was trained on, for the hash of the order, the log of bad samples, and messages.

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
  SampleAccount(Loader& loader, Group& group, BadSamples& bad_samples, SampleState& state);

  /// Adds a micro-batch of the current iteration. Returns the number of its rows for statistics: rank 0 counts the rows
  /// of all processes, the others none.
  std::size_t add(const Slab& slab);
  /// Returns the number of bad samples that this process found in the iteration.
  std::size_t bad() const { return bad_.size(); }
  /// Ends the iteration: adds its samples to the hash of the order, and the bad ones of all processes to the log. A
  /// collective if `all` counts bad samples. Throws UserError(data) beyond data.max_bad.
  void account(std::uint64_t iteration, const StepFlags& all);
  /// Forgets the current iteration.
  void discard();

  /// Returns the number of samples that all processes have consumed so far.
  std::uint64_t count() const { return state_.count; }
  /// Returns the records of the last micro-batch of all processes, for messages: any of them may be to blame.
  std::vector<std::uint64_t> last_batch() const;
  /// Returns the records of the same micro-batch of an earlier iteration, before substitutes replaced bad ones.
  std::vector<std::uint64_t> drawn(std::uint64_t iteration) const;

 private:
  std::vector<StreamRow> rows_of_all(const Slab& slab) const;
  std::uint64_t trained_on(const StreamRow& row) const;

  Loader& loader_;
  Group& group_;
  BadSamples& bad_samples_;
  SampleState& state_;
  Ticket last_;                                         // the last micro-batch
  std::vector<StreamRow> rows_;                         // the iteration's rows of all processes, on rank 0 only
  std::vector<BadSample> bad_;                          // found by this process in the iteration
  std::map<std::uint64_t, std::uint64_t> substitutes_;  // by position; the last of several attempts
};

}  // namespace flowtrain
