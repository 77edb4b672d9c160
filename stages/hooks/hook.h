#pragma once
// Hooks add a user's code to a run. The trainer and the learner call them at the events below.

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

/// The events of a run at which hooks are called, in order. Epochs are counted in whole iterations, as periods are.
enum class HookEvent {
  run_begin,        ///< the weights are loaded, no batch is
  resume,           ///< run_begin of a run that continues from a snapshot: restore() has been called
  epoch_begin,      ///< precedes the epoch's first iteration; skipped if a run continues within the epoch
  iteration_begin,  ///< `hyper` may be changed, for this iteration
  batch,            ///< a micro-batch is about to be used; `batch` may be changed
  loss,             ///< the batch's scalars are known, backward has not begun; `losses` may be changed
  backward,       ///< `parameters` have the gradients of the whole iteration, of all processes, not clipped yet; may be
                  ///< changed
  step,           ///< the gradients have changed the parameters; skipped with an update that is left out
  iteration_end,  ///< comes with `scalars`; the loss, if known, is the first of them
  epoch_end,
  validation_begin,  ///< the net is still in train mode
  validation_end,    ///< comes with `scalars`
  snapshot_begin,    ///< the state is about to be copied: state() is asked after this
  snapshot_end,      ///< the copy is on its way to the disk
  exception,         ///< `error` ends the run
  run_end,           ///< the run ends in good order, an interruption included
};
/// Returns its name, "iteration_begin".
std::string_view name_of(HookEvent event);
/// Returns all events, in their order.
std::span<const HookEvent> all_events();

/// The view of a hook, valid during the call. Members that an event lacks are null or empty.
struct HookContext {
  std::uint64_t iteration = 0;       ///< the current one, or the last finished one; 0 before the first
  std::uint64_t last_iteration = 0;  ///< the run's last iteration
  std::uint64_t epoch = 0;           ///< counted from 0
  int rank = 0, world = 1;
  std::span<HyperParameters> hyper = {};           ///< iteration_begin: one for each optimizer
  std::span<const std::uint64_t> samples = {};     ///< batch, loss: ids of this process's rows
  nets::NamedTensors* batch = nullptr;             ///< batch, loss: fields as the net gets them
  nets::NamedTensors* losses = nullptr;            ///< loss: scalars; those that optimizers lower are differentiable
  const nets::NamedTensors* parameters = nullptr;  ///< backward, step: with their gradients; without frozen ones
  const Scalars* scalars = nullptr;                ///< iteration_end, validation_end
  const std::exception* error = nullptr;           ///< exception

  /// Ends the run after this iteration as if it were the last, on all processes; at run_begin it ends before the first.
  /// In a distributed run the other ranks learn of it in the next iteration, so that one more is done.
  void stop(std::string reason) { stopped = std::move(reason); }
  /// Puts a value into metrics.jsonl's next training line; the last of several with one name counts.
  void log(const std::string& name, double value);

  std::string stopped = {};  ///< argument of stop()
  Scalars logged = {};
};

/// The compute thread alone calls a hook. An exception of on_event() ends the run as a UserError(usage).
class Hook {
 public:
  virtual ~Hook() = default;
  /// Returns the events at which on_event() is called.
  virtual std::vector<HookEvent> events() const = 0;
  virtual void on_event(HookEvent event, HookContext& context) = 0;
  /// Returns text for each snapshot, which restore() gets if the run continues from one.
  virtual std::string state() const { return {}; }
  /// Throws std::invalid_argument for a text that state() cannot have returned.
  virtual void restore(const std::string&) {}
};

}  // namespace flowtrain
