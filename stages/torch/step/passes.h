#pragma once
// Passes divide the computation for a micro-batch among the optimizers.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nets/steps/step.h"
#include "stages/model/compute.h"
#include "stages/torch/step/parameter_groups.h"

namespace flowtrain {

class Settings;

/// One forward and backward, which serves all optimizers that lower the same losses.
struct Pass {
  /// One of these optimizers.
  struct Served {
    std::size_t optimizer;               ///< index of the [[optim]]
    std::uint64_t every;                 ///< it is at work in the iterations that this divides
    std::vector<at::Tensor> parameters;  ///< parameters that it learns

    bool at_work(std::uint64_t iteration) const { return iteration % every == 0; }
  };

  std::vector<std::string> losses;  ///< losses of the step, in its order; their sum is lowered
  std::vector<Served> served;
  nets::NamedTensors parameters;          ///< parameters that all of these learn: no others get gradients
  std::vector<std::string> scalars;       ///< scalars of the step, reported beside the sum
  at::Tensor sums = {};                   ///< values_of() the iteration so far; undefined if it has none
  at::Tensor one = {};                    ///< start value of backward; undefined: a 1 that torch makes each time
  std::vector<std::string> counted = {};  ///< losses and scalars that are means over terms of their own (Step::counts)

  /// Returns whether one of its optimizers is at work in an iteration.
  bool due(std::uint64_t iteration) const;
  /// Returns whether one of them is at work in every iteration.
  bool has_every_iteration() const;
  /// Returns the name under which one of `scalars` is reported: `loss.<name>` for losses.
  std::string shown(const std::string& scalar) const;
  /// Returns the sum of its losses.
  at::Tensor lowered(const nets::NamedTensors& losses) const;
  /// Returns `lowered` as a mean over a micro-batch's rows: what counts becomes a sum per slot. `slots` are its rows
  /// times a constant.
  at::Tensor over_slots(const at::Tensor& lowered, const nets::NamedTensors& losses, double slots) const;
  /// Returns the values of one micro-batch: `lowered` and scalars, as over_slots(), and the terms per slot of each of
  /// `counted`. They are f32, or f64 if some are counted.
  at::Tensor values_of(const at::Tensor& lowered, const nets::NamedTensors& losses_and_scalars, double slots) const;
  /// Returns how many values values_of() has.
  std::int64_t value_count() const { return static_cast<std::int64_t>(1 + scalars.size() + counted.size()); }
  /// Returns whether its loss is the mean over terms of its own.
  bool counts() const { return terms_of(losses.front()).has_value(); }
  /// Returns the lowered loss of an iteration, a scalar f32, from its values.
  at::Tensor loss_in(const at::Tensor& values) const;
  /// Divides the gradients of over_slots() by the loss's terms per slot in the iteration's `values`, if it counts().
  /// Without terms they stay zero. It does not wait for the device.
  void divide_gradients(const at::Tensor& values) const;
  /// Adds the gradients of `loss` to the parameters whose optimizers are at work. `alone`: there is no other pass.
  void backward(const at::Tensor& loss, std::uint64_t iteration, bool alone) const;
  /// Drops the gradients of idle optimizers: an exchange between processes gives gradients to all.
  void forget_idle(std::uint64_t iteration) const;
  /// Adds its loss and scalars of the iteration to `done`. `read` has its sums over all processes; it is empty in an
  /// iteration without this pass, whose scalars are then NaN.
  void report(std::span<const double> read, StepStats& done) const;

 private:
  // Returns the place of the terms of a loss or scalar among values; nothing if it is a mean over rows.
  std::optional<std::size_t> terms_of(const std::string& name) const;
};

/// Makes the passes, in the order of [[optim]]. Throws UserError(usage) if an optimizer names a loss that the step does
/// not have, no optimizer lowers one of the step's, or none of them is at work in every iteration.
std::vector<Pass> make_passes(const std::vector<Settings>& optims, const AssignedParameters& assigned,
                              const nets::Step& step);

/// Returns the loss of the iteration so far, of all passes: an f32 scalar on the device.
at::Tensor loss_of(const std::vector<Pass>& passes);

}  // namespace flowtrain
