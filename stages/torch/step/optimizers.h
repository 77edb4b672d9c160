#pragma once
// What becomes of gradients once they are there: all of [[optim]], and what goes with them.

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

/// Which gradients are clipped together, and how far: train.clip's, and those of optimizers with a limit of their own.
class Clipping {
 public:
  /// Of all optimizers without a limit of their own the gradients are clipped together.
  Clipping(const LearnerSpec& spec, const SharedOut& shared);

  /// Returns the norm of all gradients as they were: a scalar where they are, which nobody waits for. Without a limit
  /// it only measures.
  at::Tensor clip();
  /// Calls of clip() that cut gradients, since the last forget_cuts(): a scalar on their device; undefined where
  /// nothing was clipped yet.
  const at::Tensor& cuts() const { return cuts_; }
  void forget_cuts();

 private:
  struct Part {
    nets::NamedTensors parameters;
    nets::ClipSpec spec;
  };

  std::vector<Part> parts_;
  at::Tensor cuts_;  // a scalar; undefined where nothing was clipped yet
};

/// The optimizers, with clipping, half precision's loss scale and the average of the weights. An iteration:
/// forget_gradients(), backward of what scaled() gives, unscale(), clip(), apply(), average(). None of it waits for
/// a device.
class Optimizers {
 public:
  /// `parameters`: all of the net's, where it computes. Throws UserError(usage) where an optimizer cannot be made.
  Optimizers(const LearnerSpec& spec, const SharedOut& shared, const nets::NamedTensors& parameters);

  /// The parameters that are not frozen, in the net's order.
  const nets::NamedTensors& learned() const { return learned_; }
  /// Which of [[optim]] learns a parameter, from 0; -1: it is frozen.
  int owner(const std::string& name) const;

  /// From now on; one for each optimizer.
  void set_hyper(std::span<const HyperParameters> hyper);
  /// From now on an update that was captured (a CUDA graph) heeds new learning rates. Throws std::runtime_error where
  /// an optimizer cannot.
  void keep_hyper_on_device();

  void forget_gradients();
  /// What backward begins with.
  at::Tensor scaled(const at::Tensor& loss) { return scaler_ ? scaler_->scaled(loss) : loss; }
  /// Now: a scalar on its device. In half precision only.
  at::Tensor loss_scale() const { return scaler_->state().at("scaler.scale"); }
  /// Once per iteration: takes the scale off the gradients. 1 where one of them is not finite, else 0: a scalar on
  /// their device; undefined without half precision.
  at::Tensor unscale() { return scaler_ ? scaler_->unscale(learned_) : at::Tensor(); }
  /// See Clipping.
  at::Tensor clip() { return clipping_.clip(); }
  const at::Tensor& cuts() const { return clipping_.cuts(); }
  void forget_cuts() { clipping_.forget_cuts(); }

  /// Changes the parameters of the optimizers that are at work, by their gradients. `overflow`: what unscale() has
  /// returned.
  void apply(const std::vector<Pass>& passes, std::uint64_t iteration, const at::Tensor& overflow);
  /// After apply(): the average follows.
  void average(std::uint64_t iteration);

  /// Whether validations take the averages in place of the parameters.
  bool validates_average() const { return ema_ && ema_validates_; }
  /// Puts one where the other is; a second time undoes it. Where validates_average() only.
  void swap_average() { ema_->swap(); }
  /// The parameters as validations take them.
  nets::NamedTensors validated(const nets::NamedTensors& parameters) const;

  /// What a snapshot keeps beside the model: the tensors in use.
  nets::NamedTensors state(bool with_scale = true) const;
  /// Puts a state back, whose loss scale may be missing. Of the average alone, the optimizers' stays as it is; without
  /// any tensors only the average begins anew, from the parameters. Throws UserError(snapshot) where names or shapes
  /// differ.
  void load(const std::vector<StateTensor>& from);

 private:
  struct Own {
    std::unique_ptr<nets::Optimizer> optimizer;
    std::uint64_t accum;                   // iterations of its work that make one update
    std::optional<nets::GradientSum> sum;  // where they are several
  };

  // `turn`: iterations that the optimizer has been at work in, this one included.
  static void step(Own& own, std::uint64_t turn, const at::Tensor& overflow);

  nets::NamedTensors learned_;
  std::map<std::string, int> owners_;  // of these, by their names
  std::vector<Own> optimizers_;
  Clipping clipping_;
  std::optional<nets::GradScaler> scaler_;
  std::optional<nets::Ema> ema_;
  bool ema_validates_ = false;
};

}  // namespace flowtrain
