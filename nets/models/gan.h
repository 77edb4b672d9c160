#pragma once
// A generative adversarial pair, small enough for pictures of 16 to 64 pixels.

#include <cstdint>
#include <memory>

#include "nets/entries.h"
#include "nets/layers/module_net.h"
#include "nets/steps/step.h"

namespace flowtrain::nets {

/// Generator and discriminator of A. Radford et al., "Unsupervised Representation Learning with Deep Convolutional
/// Generative Adversarial Networks", ICLR 2016: three steps of twice the size, parameters `generator.*` and
/// `discriminator.*`. Pictures are within -1 … 1: sampler.mean and sampler.stddev of 0.5.
class Gan : public ModuleNet {
 public:
  static constexpr std::int64_t latent = 64;  ///< what a picture is made from: so many normal draws

  /// Throws std::invalid_argument for pictures whose sides 8 does not divide.
  explicit Gan(const NetInput& input);
  /// (B, latent) f32 to pictures (B, C, H, W) f32.
  at::Tensor generate(const at::Tensor& noise);
  /// Pictures (B, C, H, W) to (B) f32: large for real ones.
  at::Tensor judge(const at::Tensor& image);
  /// judge() of `image`, as `logits` (B, 1).
  NamedTensors forward(const NamedTensors& batch) override;
  /// Nothing that metrics of validation could compare with the batch.
  bool may_give(const std::string&) const override { return false; }

 private:
  struct Modules;
  explicit Gan(std::shared_ptr<Modules> modules);
  std::shared_ptr<Modules> modules_;
};

/// The two play against each other: `discriminator` tells real from generated pictures by cross entropy, `generator`
/// wants its own to be taken for real (I. Goodfellow et al., "Generative Adversarial Nets", NIPS 2014, with the loss
/// for the generator that does not saturate). Reports `real` and `fake`: how likely the discriminator takes each for
/// real.
class GanStep final : public Step {
 public:
  explicit GanStep(Gan& gan) : gan_(gan) {}
  std::vector<std::string> losses() const override { return {"discriminator", "generator"}; }
  std::vector<std::string> scalars(const std::vector<std::string>& wanted) const override;
  NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) override;
  /// `loss` is the discriminator's on real pictures and generated ones: 2 ln 2 where it cannot tell them apart. Outputs
  /// `image`: the generated ones.
  Evaluated evaluate(const NamedTensors& batch) override;

 private:
  at::Tensor noise(const NamedTensors& batch) const;
  Gan& gan_;
};

}  // namespace flowtrain::nets
