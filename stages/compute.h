#pragma once
// The compute stage's door: what the graph asks of whatever learns. No torch here; the LibTorch learner is in
// stages/torch/, and tests and data-only runs bring their own.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stages/slab.h"
#include "stages/state.h"

namespace flowtrain {

class Detector;

/// What each process tells all others with every iteration, so that all decide the same in the same one. Summed.
struct Votes {
  double bad_samples = 0;  ///< found in the iteration
  double interrupted = 0;  ///< asked to end by SIGINT
  double terminated = 0;   ///< by SIGTERM or SIGUSR1
  double failed = 0;       ///< cannot go on: a snapshot could not be written, and the run is to stop then
};

/// Named figures, e.g. {"loss", 0.31}, {"accuracy", 0.97}.
using Figures = std::vector<std::pair<std::string, double>>;

/// What one iteration did, over all processes.
struct StepResult {
  double loss = 0;       ///< mean over the iteration's micro-batches
  double grad_norm = 0;  ///< before clipping
  Votes votes = {};      ///< in a group: the sum of all vote()s
  double exchange_s = 0;  ///< in a group on the CPU: this process's gradients were on their way
  double exposed_s = 0;   ///< of that, while nothing was left to compute
  Figures parts = {};     ///< of the loss, and what else it reports
};

/// Learns from batches. All methods are called by the compute thread, in step order.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual void set_learning_rate(double lr) = 0;
  /// That compute uses on the CPU from now on.
  virtual void set_threads(unsigned) {}
  /// Forward and backward of one micro-batch; the first of an iteration (ticket.micro 0) begins with no gradients. The
  /// slab may be reused when it returns (on a device that copies: after Device::consumed).
  virtual void backward(Slab& slab) = 0;
  /// Called before the last backward() of an iteration in a group: what result() gives back, summed over the processes.
  virtual void vote(const Votes&) {}
  /// Of the iteration's micro-batches so far. Waits for the device, so on a GPU it is asked only where the figures are
  /// needed.
  virtual StepResult result() = 0;
  /// Changes the parameters by the iteration's gradients.
  virtual void update() = 0;
  /// Instead of update(): forgets the gradients, and what the iteration's forward passes left in buffers (running
  /// statistics).
  virtual void discard() = 0;
  /// Whether result() costs next to nothing, so that every iteration can be checked.
  virtual bool result_is_cheap() const = 0;

  /// Eval mode, sums at zero.
  virtual void begin_validation() = 0;
  virtual void validate(Slab& slab) = 0;
  /// Looks through the net as it is, from begin_validation to end_validation; null where the net finds no objects, or
  /// val.metrics asks for none of their figures.
  virtual Detector* detector() { return nullptr; }
  /// Means over all rows since begin_validation, of all processes, the loss first; back to train mode.
  virtual Figures end_validation() = 0;

  /// Copies the state to the host as it lies, into memory kept in `state` from the last time; settle() before it is
  /// read. A device may still be copying when it returns.
  virtual void copy_state(LearnerState& state) = 0;
  /// Rank 0's state into all processes of the group.
  virtual void share_state() {}
  /// Puts a state back; without optimizer's tensors the optimizer stays as it is. Throws UserError(snapshot) where names or shapes differ.
  virtual void load_state(const LearnerState& state) = 0;
};

/// Does nothing: for runs that only read data (--dry-run).
class IdleLearner : public Learner {
 public:
  void set_learning_rate(double) override {}
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
