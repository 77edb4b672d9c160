#pragma once
// The compute stage's door: what the graph asks of whatever learns. No torch here; the LibTorch learner is in
// stages/torch/, and tests and data-only runs bring their own.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stages/core/plan.h"
#include "stages/loader/slab.h"
#include "stages/model/nonfinite_origin.h"
#include "stages/model/state.h"
#include "stages/model/step_flags.h"
#include "stages/model/validator.h"
#include "stages/trace/histogram.h"

namespace flowtrain {

/// Statistics of the iterations since the last one whose stats() were read: on a GPU, those between displays.
struct DeferredStats {
  std::uint64_t steps = 0;
  std::uint64_t nonfinite = 0;     ///< the first whose loss or gradients were not finite; 0: none
  double loss = 0, grad_norm = 0;  ///< of that one
  std::uint64_t overflows = 0;     ///< those that half precision left out
  std::uint64_t in_a_row = 0;      ///< of these, the last ones
  std::uint64_t most_in_a_row = 0;
};

/// What one iteration did, over all processes.
struct StepStats {
  double loss = 0;        ///< mean over the iteration's micro-batches
  double grad_norm = 0;   ///< before clipping
  StepFlags flags = {};   ///< in a group of several: sums over all processes
  double exchange_s = 0;  ///< in a group on the CPU: this process's gradients were on their way
  double exposed_s = 0;   ///< of that, while nothing was left to compute
  Scalars parts = {};     ///< of the loss, and what else it reports
  bool overflow =
      false;  ///< in half precision gradients were not finite: update() leaves the weights, and lowers the loss's scale
  double clipped = 0;  ///< iterations since the last one that was read whose gradients were clipped
  DeferredStats deferred = {};
};

/// What a net is made of, and what training takes of memory beside batches.
struct NetSummary {
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

/// For loader.batch = "auto" and `flowtrain plan`: what a training step takes of memory.
class MemoryProbe {
 public:
  virtual ~MemoryProbe() = default;
  /// Bytes that are free where the net computes; nothing where that is in the machine's own memory.
  virtual std::optional<std::uint64_t> free_bytes() = 0;
  /// Takes a training step with a batch of any number of rows, and returns how many bytes that took beside weights,
  /// optimizers and batch, at its peak; nothing where the device has too little. What it learns is of no use.
  virtual std::optional<std::uint64_t> step_bytes(Slab& slab) = 0;
  /// Bytes that a forward pass over the batch keeps for backward; 0 on a GPU.
  virtual std::uint64_t kept_bytes(Slab& slab) = 0;
};

/// For `flowtrain replay --find-nan`: where a value that is not finite comes from. One process only.
class NonFiniteSearch {
 public:
  virtual ~NonFiniteSearch() = default;
  /// Slowly, in place of forward_backward(), for an iteration that has been discarded: one micro-batch after the other,
  /// up to the one that tells; the others: nothing. Nothing is learned from them. `in_loss`: it is the loss that was
  /// not finite, so gradients, which half precision lets overflow now and then, are not looked at.
  virtual std::optional<NonFiniteOrigin> find(Slab& slab, bool in_loss) = 0;
};

/// Learns from batches. The compute thread calls all methods, in the order of a step: forward_backward() for each
/// micro-batch, finish_gradients(), stats() where they are wanted, then update() or discard().
class Learner : public Validator {
 public:
  /// Sets the hyper-parameters from now on; one for each optimizer.
  virtual void set_hyper(std::span<const HyperParameters> hyper) = 0;
  /// Sets how many threads compute uses on the CPU from now on.
  virtual void set_threads(unsigned) {}
  /// Forward and backward of one micro-batch; the first of an iteration (ticket.micro 0) begins with no gradients. The
  /// last one's gradients are averaged over the group; the flags travel with them. The slab may be reused when it
  /// returns (on a device that copies: after Device::consumed).
  virtual void forward_backward(Slab& slab, const StepFlags& flags) = 0;
  /// In place of an iteration's last forward_backward(), or after that has thrown: this process has no gradients; in a
  /// group it contributes zeros, so that nobody waits. False: the exchange had begun, and it is too late.
  virtual bool contribute_zeros(Slab& slab, const StepFlags& flags) = 0;
  /// Once per iteration, after its last micro-batch: takes half precision's scale off the gradients, shows them to
  /// hooks, and clips them.
  virtual void finish_gradients() {}
  /// Statistics of the iteration, after finish_gradients(). Changes nothing. Waits for the device.
  virtual StepStats stats() const = 0;
  /// Whether stats() costs next to nothing, so that every iteration can be checked.
  virtual bool stats_are_free() const = 0;
  /// Changes the parameters by the iteration's gradients.
  virtual void update() = 0;
  /// Instead of update(): forgets the gradients, and what the iteration's forward passes left in buffers (running
  /// statistics).
  virtual void discard() = 0;

  virtual NetSummary net_summary() const { return {}; }
  /// Floating-point operations of an iteration of this process: those of its matrix products, convolutions and
  /// attention in forward passes, as counted in the first one, and twice as many for backward. 0: not known, or not
  /// yet.
  virtual double step_flops() const { return 0; }
  /// After finish_gradients(): how the values of weights and gradients are spread, as update() gets them. Changes
  /// nothing. Waits for the device. Needs some of its memory: errors may be such that
  /// ran_out_of_memory() knows.
  virtual Histograms histograms() const { return {}; }
  /// A net of its kind for overlapped validation, which it must outlive; null: it has none to give.
  virtual std::unique_ptr<ValidationReplica> make_replica() { return nullptr; }
  /// Null where the learner cannot measure memory.
  virtual MemoryProbe* memory_probe() { return nullptr; }
  virtual NonFiniteSearch* nonfinite_search() { return nullptr; }

  /// Copies the state to the host as it lies, into memory kept in `state` from the last time; settle() before it is
  /// read. A device may still be copying when it returns.
  virtual void copy_state(LearnerState& state) = 0;
  /// Copies rank 0's state to all processes of the group.
  virtual void share_state() {}
  /// Puts a state back; without optimizer's tensors the optimizer stays as it is, and without a loss scale's so does
  /// that. Throws UserError(snapshot) where names or shapes differ.
  virtual void load_state(const LearnerState& state) = 0;
};

/// Does nothing: for runs that only read data (--dry-run).
class IdleLearner : public Learner {
 public:
  void set_hyper(std::span<const HyperParameters>) override {}
  void forward_backward(Slab&, const StepFlags&) override {}
  bool contribute_zeros(Slab&, const StepFlags&) override { return true; }
  StepStats stats() const override { return {}; }
  void update() override {}
  void discard() override {}
  bool stats_are_free() const override { return true; }
  void begin_validation() override {}
  void validate(Slab&) override {}
  Scalars end_validation() override { return {}; }
  void copy_state(LearnerState&) override {}
  void load_state(const LearnerState&) override {}
};

}  // namespace flowtrain
