#pragma once
// The compute stage's door: what the graph asks of whatever learns. No torch here; the LibTorch learner is in
// stages/torch/, and tests and data-only runs bring their own.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stages/nonfinite_origin.h"
#include "stages/slab.h"
#include "stages/state.h"
#include "stages/validator.h"

namespace flowtrain {

/// What each process tells all others with every iteration, so that all decide the same in the same one. Summed.
struct Votes {
  double bad_samples = 0;  ///< found in the iteration
  double interrupted = 0;  ///< asked to end by SIGINT
  double terminated = 0;   ///< by SIGTERM or SIGUSR1
  double failed = 0;       ///< cannot go on: a snapshot could not be written, and the run is to stop then
  double out_of_time = 0;  ///< early_stop.hours are over
  double stopped = 0;      ///< a hook has asked for the end
  double left_out = 0;     ///< an error kept it from computing its part (train.on_error)
};

/// What an optimizer works with in one iteration.
struct Rates {
  double lr = 0;
  double momentum = 0;      ///< of sgd; of adam and adamw the first of betas
  double weight_decay = 1;  ///< what the weight decay of all its parameters is multiplied by
  bool operator==(const Rates&) const = default;
};

/// What the iterations did since the last result() for which nobody asked it: on a GPU, those between displays.
struct Unread {
  std::uint64_t steps = 0;
  std::uint64_t nonfinite = 0;     ///< the first whose loss or gradients were not finite; 0: none
  double loss = 0, grad_norm = 0;  ///< of that one
  std::uint64_t overflows = 0;     ///< those that half precision left out
  std::uint64_t in_a_row = 0;      ///< of these, the last ones
  std::uint64_t most_in_a_row = 0;
};

/// What one iteration did, over all processes.
struct StepResult {
  double loss = 0;        ///< mean over the iteration's micro-batches
  double grad_norm = 0;   ///< before clipping
  Votes votes = {};       ///< in a group: the sum of all vote()s
  double exchange_s = 0;  ///< in a group on the CPU: this process's gradients were on their way
  double exposed_s = 0;   ///< of that, while nothing was left to compute
  Figures parts = {};     ///< of the loss, and what else it reports
  bool overflow =
      false;  ///< in half precision gradients were not finite: update() leaves the weights, and lowers the loss's scale
  double clipped = 0;  ///< iterations since the last result() whose gradients were clipped
  Unread unread = {};
};

/// What a net is made of, and what training takes of memory beside batches.
struct NetFigures {
  struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0, bytes = 0;
    int optimizer = -1;  ///< which of [[optim]] learns it, from 0; -1: frozen
  };
  std::vector<Parameter> parameters;
  std::uint64_t buffer_bytes = 0;     ///< running statistics and the like
  std::uint64_t optimizer_bytes = 0;  ///< momenta and the like
};

/// Learns from batches. All methods are called by the compute thread, in step order.
class Learner : public Validator {
 public:
  /// From now on; one for each optimizer.
  virtual void set_rates(std::span<const Rates> rates) = 0;
  /// That compute uses on the CPU from now on.
  virtual void set_threads(unsigned) {}
  /// Forward and backward of one micro-batch; the first of an iteration (ticket.micro 0) begins with no gradients. The
  /// slab may be reused when it returns (on a device that copies: after Device::consumed).
  virtual void backward(Slab& slab) = 0;
  /// Called before the last backward() of an iteration in a group: what result() gives back, summed over the processes.
  virtual void vote(const Votes&) {}
  /// In a group, in place of an iteration's last backward(), or after that has thrown: takes part in the exchange with
  /// gradients of zero, so that nobody waits. False: the exchange had begun, and it is too late.
  virtual bool stand_by(Slab&) { return false; }
  /// Of the iteration's micro-batches so far. Waits for the device, so on a GPU it is asked only where the figures are
  /// needed.
  virtual StepResult result() = 0;
  /// Changes the parameters by the iteration's gradients.
  virtual void update() = 0;
  /// Instead of update(): forgets the gradients, and what the iteration's forward passes left in buffers (running
  /// statistics).
  virtual void discard() = 0;
  /// Slowly, in place of backward(), for an iteration that has been discarded because its loss or gradients were not
  /// finite: where that comes from. One micro-batch after the other, up to the one that tells; the others: nothing.
  /// Nothing is learned from them. `in_loss`: it is the loss that was not finite, so gradients, which half precision
  /// lets overflow now and then, are not looked at. One process only.
  virtual std::optional<NonFiniteOrigin> find_nonfinite(Slab&, [[maybe_unused]] bool in_loss) { return {}; }
  /// Whether result() costs next to nothing, so that every iteration can be checked.
  virtual bool result_is_cheap() const = 0;

  virtual NetFigures figures() const { return {}; }
  /// What a forward pass over the batch keeps in memory for backward; on the CPU only, elsewhere 0.
  virtual std::uint64_t kept_bytes(Slab&) { return 0; }

  /// A net of its kind for overlapped validation, which it must outlive; null: it has none to give.
  virtual std::unique_ptr<NetCopy> copy_net() { return nullptr; }
  /// Bytes that are free where it computes; nothing where that is in the machine's own memory.
  virtual std::optional<std::uint64_t> free_bytes() { return {}; }
  /// Takes a training step with a batch of any number of rows, and returns how many bytes that took beside weights,
  /// optimizers and batch, at its peak; nothing where the device has too little. What it learns is of no use: for
  /// loader.batch = "auto".
  virtual std::optional<std::uint64_t> step_bytes(Slab&) { return 0; }

  /// Copies the state to the host as it lies, into memory kept in `state` from the last time; settle() before it is
  /// read. A device may still be copying when it returns.
  virtual void copy_state(LearnerState& state) = 0;
  /// Rank 0's state into all processes of the group.
  virtual void share_state() {}
  /// Puts a state back; without optimizer's tensors the optimizer stays as it is, and without a loss scale's so does
  /// that. Throws UserError(snapshot) where names or shapes differ.
  virtual void load_state(const LearnerState& state) = 0;
};

/// Does nothing: for runs that only read data (--dry-run).
class IdleLearner : public Learner {
 public:
  void set_rates(std::span<const Rates>) override {}
  void backward(Slab&) override {}
  StepResult result() override { return {}; }
  void update() override {}
  void discard() override {}
  bool result_is_cheap() const override { return true; }
  void begin_validation() override {}
  void validate(Slab&) override {}
  Figures end_validation() override { return {}; }
  void copy_state(LearnerState&) override {}
  void load_state(const LearnerState&) override {}
};

}  // namespace flowtrain
