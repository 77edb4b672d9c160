#pragma once
// The base of the built-in optimizers. Those on ATen's fused steps make one kernel call for all parameters of a group;
// the others make their steps of several operations.

#include <ATen/ATen.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nets/entries.h"
#include "nets/optim/optimizer.h"

namespace flowtrain::nets {

using Tensors = std::vector<at::Tensor>;

/// The arguments of one update: the parameters of a group that have a gradient, with their gradients and state.
struct FusedStep {
  Tensors parameters, gradients;  ///< f32 copies for parameters in bf16 and fp16
  std::vector<std::pair<at::Tensor, at::Tensor>> rounded =
      {};                      ///< parameters of those types, and their f32 copies in `parameters`
  std::vector<Tensors> state;  ///< indexed by slot; undefined where a parameter has none
  double lr = 0, weight_decay = 0;
  at::Tensor lr_on_device = {};  ///< replaces lr if it is defined
  std::optional<at::Tensor> skip = {};

  /// Returns the learning rate as an f64 scalar on the parameters' device, for updates of several operations.
  at::Tensor rate() const;
};

/// Calls `change`, which changes the parameters and the state of a step, and where step.skip is 1 undoes its changes.
void unless_skipped(const FusedStep& step, const std::function<void()>& change);

/// Multiplies each tensor by a scalar on its device.
void multiply(const Tensors& tensors, const at::Tensor& factor);

/// Chooses the parameters of a step, and names the state. A parameter in bf16 or fp16 has a copy in f32, the state's
/// "master.<name>": each step updates that copy, and rounds it to the parameter. Its other state is f32, too.
class FusedOptimizer : public Optimizer {
 public:
  FusedOptimizer(const Settings& settings, double momentum, const std::vector<ParameterGroup>& groups);

  void step(const at::Tensor& skip) final;
  void zero_grad() final;
  void set_hyper(double lr, double momentum, double decay_factor) final;
  void keep_rate_on_device() final;
  NamedTensors state() const final;

 protected:
  /// Returns the first state of a parameter of this name, all zeros; undefined if it has none.
  using MakeState = std::function<at::Tensor(const std::string& name, const at::Tensor& parameter)>;

  /// Adds a kind of state. Returns its index.
  std::size_t add_slot(const std::string& name, const MakeState& make = zeros);
  /// Makes state in the shape and layout of the parameter.
  static at::Tensor zeros(const std::string& name, const at::Tensor& parameter);
  /// Makes state of one f32 number, such as a count of steps.
  static at::Tensor scalar(const std::string& name, const at::Tensor& parameter);
  /// Updates the parameters of a group.
  virtual void update(const FusedStep& step) = 0;
  double momentum() const { return momentum_; }

 private:
  struct Group {
    ParameterGroup of;
    Tensors masters = {};             ///< the f32 value of each parameter in half precision; undefined for others
    std::vector<Tensors> state = {};  ///< indexed by slot; a tensor for every parameter
    at::Tensor lr_on_device = {};     ///< see keep_rate_on_device()
  };
  FusedStep collect(const Group& group) const;

  double lr_, momentum_, decay_factor_ = 1;
  std::vector<Group> groups_;
  std::vector<std::string> slots_;
};

}  // namespace flowtrain::nets
