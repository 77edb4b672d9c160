#pragma once
// Hooks: what a user adds to a run without changing it. The trainer and the learner call them at the events below.

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stages/model/compute.h"

namespace flowtrain {

namespace nets {
class NamedTensors;
}

/// Where hooks are called, in the order in which a run comes by. Epochs are counted in whole iterations, as periods
/// are.
enum class HookEvent {
  run_begin,        ///< the weights are there, no batch is
  resume,           ///< likewise, where the run goes on from a snapshot: restore() has been called
  epoch_begin,      ///< before its first iteration; not where a run goes on within the epoch
  iteration_begin,  ///< `hyper` may be changed, for this iteration
  batch,            ///< a micro-batch is about to be used: `batch` may be changed
  loss,             ///< its scalars are there, backward has not begun: `losses` may be changed
  backward,       ///< gradients of the whole iteration, of all processes, are in `parameters`, not clipped yet; may be
                  ///< changed
  step,           ///< the parameters have been changed by them; not where an update is left out
  iteration_end,  ///< with `scalars`: where the loss is known, it comes first
  epoch_end,
  validation_begin,  ///< still in train mode
  validation_end,    ///< with `scalars`
  snapshot_begin,    ///< the state is about to be copied: state() is asked after this
  snapshot_end,      ///< the copy is on its way to the disk
  exception,         ///< `error` ends the run
  run_end,           ///< in good order, an interruption included
};
/// "iteration_begin".
std::string_view name_of(HookEvent event);
/// All events, in their order.
std::span<const HookEvent> all_events();

/// What a hook sees. Valid during the call; what an event does not have is null or empty.
struct HookContext {
  std::uint64_t iteration = 0;       ///< under way, or the last one that was finished; 0 before the first
  std::uint64_t last_iteration = 0;  ///< of the run
  std::uint64_t epoch = 0;           ///< from 0
  int rank = 0, world = 1;
  std::span<HyperParameters> hyper = {};           ///< iteration_begin: one for each optimizer
  std::span<const std::uint64_t> samples = {};     ///< batch, loss: ids of this process's rows
  nets::NamedTensors* batch = nullptr;             ///< batch, loss: fields as the net gets them
  nets::NamedTensors* losses = nullptr;            ///< loss: scalars; those that optimizers lower are differentiable
  const nets::NamedTensors* parameters = nullptr;  ///< backward, step: with their gradients; without frozen ones
  const Scalars* scalars = nullptr;                ///< iteration_end, validation_end
  const std::exception* error = nullptr;           ///< exception

  /// Ends the run after this iteration as if it were the last, on all processes. At run_begin: before the first. In a
  /// distributed run the others hear of it with the next iteration, so that one more is done.
  void stop(std::string reason) { stopped = std::move(reason); }
  /// Puts a value into metrics.jsonl's next training line; of several with one name the last one counts.
  void log(const std::string& name, double value);

  std::string stopped = {};  ///< what stop() was called with
  Scalars logged = {};
};

/// One hook. Called by the compute thread only. What on_event() throws ends the run, as a UserError(usage) that names
/// the hook.
class Hook {
 public:
  virtual ~Hook() = default;
  /// The events at which on_event() is called.
  virtual std::vector<HookEvent> events() const = 0;
  virtual void on_event(HookEvent event, HookContext& context) = 0;
  /// Goes into each snapshot, and comes back by restore() where the run goes on from one.
  virtual std::string state() const { return {}; }
  /// Throws std::invalid_argument for what state() does not give.
  virtual void restore(const std::string&) {}
};

}  // namespace flowtrain
