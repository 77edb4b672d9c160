#pragma once
// Which gradients are clipped together, and how far: train.clip's, and those of optimizers with a limit of their own.

#include <torch/types.h>

#include <vector>

#include "nets/optim/clip.h"
#include "stages/learner_spec.h"
#include "stages/torch/learner/parameter_groups.h"

namespace flowtrain {

class Clipping {
 public:
  /// Of all optimizers without a limit of their own the gradients are clipped together.
  Clipping(const LearnerSpec& spec, const SharedOut& shared);

  /// Whether there is a limit; without one clip() only measures.
  bool limits() const;
  /// Returns the norm of all gradients as they were: a scalar where they are, which nobody waits for.
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

}  // namespace flowtrain
