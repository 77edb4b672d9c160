#pragma once
// The way from gradients to an update: all of [[optim]] with clipping, scaling and averaging.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nets/optim/clip.h"
#include "nets/optim/ema.h"
#include "nets/optim/gradient_sum.h"
#include "nets/optim/optimizer.h"
#include "nets/optim/scaler.h"
#include "stages/model/learner_spec.h"
#include "stages/model/state.h"
#include "stages/torch/step/parameter_groups.h"
#include "stages/torch/step/passes.h"

namespace flowtrain {

/// Clips gradients: train.clip together, and those of optimizers with a limit of their own apart.
class Clipping {
 public:
  /// The gradients of all optimizers without a limit of their own are clipped together.
  Clipping(const LearnerSpec& spec, const AssignedParameters& assigned);

  /// Returns the norm of all gradients before clipping, a scalar on their device. Without a limit it only measures.
  at::Tensor clip();
  /// Returns the number of calls of clip() that cut gradients, since the last forget_cuts(): a scalar on their device;
  /// undefined before the first clipping.
  const at::Tensor& cuts() const { return cuts_; }
  void forget_cuts();

 private:
  struct Part {
    nets::NamedTensors parameters;
    nets::ClipSpec spec;
  };

  std::vector<Part> parts_;
  at::Tensor cuts_;  // a scalar; undefined before the first clipping
};

/// The optimizers, with clipping, half precision's loss scale and the average of the weights. An iteration:
/// forget_gradients(), backward of the result of scaled(), unscale(), clip(), apply(), average(). None waits for a
/// device.
class Optimizers {
 public:
  /// `parameters` are all of the net's, on its device. Throws UserError(usage) if an optimizer cannot be made.
  Optimizers(const LearnerSpec& spec, const AssignedParameters& assigned, const nets::NamedTensors& parameters);

  /// Returns the parameters that are not frozen, in the net's order.
  const nets::NamedTensors& learned() const { return learned_; }
  /// Returns the index of the [[optim]] that learns a parameter, from 0; -1: it is frozen.
  int owner(const std::string& name) const;

  /// Sets the hyper-parameters from now on; one for each optimizer.
  void set_hyper(std::span<const HyperParameters> hyper);
  /// Makes a captured update (a CUDA graph) follow new learning rates from now on. Throws std::runtime_error if one
  /// cannot.
  void keep_hyper_on_device();

  void forget_gradients();
  /// Returns the value that backward starts from.
  at::Tensor scaled(const at::Tensor& loss) { return scaler_ ? scaler_->scaled(loss) : loss; }
  /// Returns the current scale as a scalar on its device. In half precision only.
  at::Tensor loss_scale() const { return scaler_->state().at("scaler.scale"); }
  /// Takes the scale off the gradients, once per iteration. Returns 1 if one of them is not finite, and 0 otherwise: a
  /// scalar on their device; undefined without half precision.
  at::Tensor unscale() { return scaler_ ? scaler_->unscale(learned_) : at::Tensor(); }
  /// Calls Clipping::clip().
  at::Tensor clip() { return clipping_.clip(); }
  const at::Tensor& cuts() const { return clipping_.cuts(); }
  void forget_cuts() { clipping_.forget_cuts(); }

  /// Changes the parameters of the optimizers that are at work by their gradients. `overflow` is unscale()'s.
  void apply(const std::vector<Pass>& passes, std::uint64_t iteration, const at::Tensor& overflow);
  /// Updates the average, after apply().
  void average(std::uint64_t iteration);

  /// Returns whether validations use the averages in place of the parameters.
  bool validates_average() const { return ema_ && ema_validates_; }
  /// Swaps parameters and averages; a second call undoes it. Only if validates_average().
  void swap_average() { ema_->swap(); }
  /// Returns the parameters that validations use.
  nets::NamedTensors validated(const nets::NamedTensors& parameters) const;

  /// Returns the tensors that a snapshot keeps beside the model, in place.
  nets::NamedTensors state(bool with_scale = true) const;
  /// Restores a state, whose loss scale may be missing. A state of the average alone leaves the optimizers as they are;
  /// without tensors only the average begins anew. Throws UserError(snapshot) if names or shapes differ.
  void load(const std::vector<StateTensor>& from);

 private:
  struct Own {
    std::unique_ptr<nets::Optimizer> optimizer;
    std::uint64_t accum;                   // iterations of its work that make one update
    std::optional<nets::GradientSum> sum;  // set if one update takes several
  };

  // `turn` counts the iterations of the optimizer's work, this one included.
  static void step(Own& own, std::uint64_t turn, const at::Tensor& overflow);

  nets::NamedTensors learned_;
  std::map<std::string, int> owners_;  // index of the optimizer, by parameter name
  std::vector<Own> optimizers_;
  Clipping clipping_;
  std::optional<nets::GradScaler> scaler_;
  std::optional<nets::Ema> ema_;
  bool ema_validates_ = false;
};

}  // namespace flowtrain
