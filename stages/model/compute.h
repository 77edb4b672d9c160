#pragma once
// The interface of the compute stage: the graph's view of a learner. This file needs no torch; the LibTorch learner is
// in stages/torch/, and tests and data-only runs bring their own.

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

/// Statistics of the iterations since stats() was last read: on a GPU, those between displays.
struct DeferredStats {
  std::uint64_t steps = 0;
  std::uint64_t nonfinite = 0;     ///< first iteration whose loss or gradients were not finite; 0: none
  double loss = 0, grad_norm = 0;  ///< values of that iteration
  std::uint64_t overflows = 0;     ///< iterations that half precision left out
  std::uint64_t in_a_row = 0;      ///< overflows in a row at the end
  std::uint64_t most_in_a_row = 0;
};

/// The results of one iteration, over all processes.
struct StepStats {
  double loss = 0;        ///< mean over the iteration's micro-batches
  double grad_norm = 0;   ///< norm before clipping
  StepFlags flags = {};   ///< sums over all processes of a group
  double exchange_s = 0;  ///< time in which this process's gradients were on their way, in a group on the CPU
  double exposed_s = 0;   ///< part of that in which nothing was left to compute
  Scalars parts = {};     ///< parts of the loss, and further values that it reports
  bool overflow =
      false;  ///< gradients overflowed in half precision: update() leaves the weights, and lowers the loss's scale
  double clipped = 0;  ///< iterations since the last one that was read whose gradients were clipped
  DeferredStats deferred = {};
};

/// The parameters of a net, and the memory that training takes beside batches.
struct NetSummary {
  struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0, bytes = 0;
    int optimizer = -1;  ///< index of the [[optim]] that learns it, from 0; -1: frozen
  };
  std::vector<Parameter> parameters;
  std::uint64_t buffer_bytes = 0;     ///< bytes of running statistics and the like
  std::uint64_t optimizer_bytes = 0;  ///< bytes of momenta and the like
};

/// Measures the memory of a training step, for loader.batch = "auto" and `flowtrain plan`.
class MemoryProbe {
 public:
  virtual ~MemoryProbe() = default;
  /// Returns the bytes that are free where the net computes; nothing if that is the machine's own memory.
  virtual std::optional<std::uint64_t> free_bytes() = 0;
  /// Takes a training step with a batch of any number of rows, and returns the bytes that it took beside weights,
  /// optimizers and batch, at its peak; nothing if the device has too little. It spoils the weights.
  virtual std::optional<std::uint64_t> step_bytes(Slab& slab) = 0;
  /// Returns the bytes that a forward pass over the batch keeps for backward; 0 on a GPU.
  virtual std::uint64_t kept_bytes(Slab& slab) = 0;
};

/// Finds the source of a value that is not finite, for `flowtrain replay --find-nan`. One process only.
class NonFiniteSearch {
 public:
  virtual ~NonFiniteSearch() = default;
  /// Replaces forward_backward() for an iteration that has been discarded, and is slow. It searches one micro-batch
  /// after the other and returns nothing until one shows the origin. Nothing is learned. `in_loss`: the loss was not
  /// finite, so gradients, which half precision lets overflow now and then, are not searched.
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
  /// Computes forward and backward of one micro-batch; the first of an iteration (ticket.micro 0) begins with no
  /// gradients. The last one's gradients are averaged over the group; the flags travel with them. The slab may be
  /// reused when it returns (on a device that copies: after Device::consumed).
  virtual void forward_backward(Slab& slab, const StepFlags& flags) = 0;
  /// Replaces an iteration's last forward_backward(), or follows one that has thrown: this process has no gradients and
  /// contributes zeros in a group, so that nobody waits. Returns false if the exchange had begun, and it is too late.
  virtual bool contribute_zeros(Slab& slab, const StepFlags& flags) = 0;
  /// Takes half precision's scale off the gradients, shows them to hooks, and clips them; called once per iteration,
  /// after its last micro-batch.
  virtual void finish_gradients() {}
  /// Returns statistics of the iteration, after finish_gradients(). It changes nothing and waits for the device.
  virtual StepStats stats() const = 0;
  /// Returns whether stats() costs next to nothing, so that every iteration can be checked.
  virtual bool stats_are_free() const = 0;
  /// Changes the parameters by the iteration's gradients.
  virtual void update() = 0;
  /// Forgets, instead of update(), the gradients and what the iteration's forward passes left in buffers (running
  /// statistics).
  virtual void discard() = 0;

  virtual NetSummary net_summary() const { return {}; }
  /// Returns the floating-point operations of an iteration of this process: matrix products, convolutions and attention
  /// in forward passes, as counted in the first one, and twice as many for backward. It is 0 if not known yet.
  virtual double step_flops() const { return 0; }
  /// Returns the distributions of weights and gradients as update() gets them, after finish_gradients(). It changes
  /// nothing, waits for the device and needs some of its memory: ran_out_of_memory() may know its errors.
  virtual Histograms histograms() const { return {}; }
  /// Returns a net of its kind for async validation, which the learner must outlive; null if it has none to give.
  virtual std::unique_ptr<ValidationReplica> make_replica() { return nullptr; }
  /// Returns null if the learner cannot measure memory.
  virtual MemoryProbe* memory_probe() { return nullptr; }
  virtual NonFiniteSearch* nonfinite_search() { return nullptr; }

  /// Copies the state to the host as it lies, into memory that `state` keeps from the last time; settle() must precede
  /// reading it. A device may still be copying when it returns.
  virtual void copy_state(LearnerState& state) = 0;
  /// Copies rank 0's state to all processes of the group.
  virtual void share_state() {}
  /// Restores a state; without optimizer tensors the optimizer stays as it is, and without a loss scale so does that.
  /// Throws UserError(snapshot) if names or shapes differ.
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
