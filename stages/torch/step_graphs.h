#pragma once
// train.cuda_graph: a training step that the device keeps, and repeats with other batches.

#include <functional>
#include <memory>

#include "nets/tensors.h"
#include "stages/work_graph.h"

namespace flowtrain {

/// Two graphs, as there is a look at the figures in between: forward and backward, and the update.
class StepGraphs {
 public:
  explicit StepGraphs(MakeWorkGraph make) : make_(std::move(make)) {}

  bool available() const { return make_ != nullptr; }
  /// To be asked once before each step. The first few are made as ever: libraries choose their kernels, and find their memory.
  bool warms_up() { return !captured() && steps_++ < 3; }
  bool captured() const { return update_ != nullptr; }
  /// Captured anew so often that it does not pay.
  bool too_often() const { return !captured() && captures_ >= 8; }

  /// Keeps both. `gradients` reads the batch that it is given, a copy of `batch`. Throws what WorkGraph::capture() throws; then
  /// nothing is captured.
  void capture(const nets::NamedTensors& batch, const std::function<void(const nets::NamedTensors&)>& gradients,
               const std::function<void()>& update);
  /// Before the next step they are captured anew.
  void forget() { gradients_.reset(), update_.reset(); }

  /// Whether the batch has the names, shapes and types of the one that was captured.
  bool takes(const nets::NamedTensors& batch) const;
  void repeat_gradients(const nets::NamedTensors& batch);
  void repeat_update() { update_->replay(); }

 private:
  MakeWorkGraph make_;
  int steps_ = 0, captures_ = 0;
  nets::NamedTensors batch_;
  std::unique_ptr<WorkGraph> gradients_, update_;
};

}  // namespace flowtrain
