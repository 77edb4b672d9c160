#pragma once
// A generative adversarial pair, small enough for images of 16 to 64 pixels.

#include <cstdint>
#include <memory>

#include "nets/entries.h"
#include "nets/layers/module_net.h"
#include "nets/steps/step.h"

namespace flowtrain::nets {

/// The generator and discriminator of A. Radford et al., "Unsupervised Representation Learning with Deep Convolutional
/// Generative Adversarial Networks", ICLR 2016: three layers of twice the size, parameters `generator.*` and
/// `discriminator.*`. Images are within -1 … 1: sampler.mean and sampler.stddev of 0.5.
class Gan : public ModuleNet {
 public:
  static constexpr std::int64_t latent = 64;  ///< number of normal draws that an image is made from

  /// Throws std::invalid_argument for images whose sides are no multiples of 8.
  explicit Gan(const NetInput& input);
  /// Maps noise (B, latent) f32 to images (B, C, H, W) f32.
  at::Tensor generate(const at::Tensor& noise);
  /// Maps images (B, C, H, W) to (B) f32, which is large for real ones.
  at::Tensor score(const at::Tensor& image);
  /// Returns score() of `image` as `logits` (B, 1).
  NamedTensors forward(const NamedTensors& batch) override;
  /// Validation cannot compare any output with the batch.
  bool may_give(const std::string&) const override { return false; }

 private:
  struct Modules;
  explicit Gan(std::shared_ptr<Modules> modules);
  std::shared_ptr<Modules> modules_;
};

/// Trains both nets against each other: `discriminator` separates real from generated images by cross entropy,
/// `generator` makes its own look real (I. Goodfellow et al., "Generative Adversarial Nets", NIPS 2014, with the loss
/// for the generator that does not saturate). Reports `real` and `fake`: the discriminator's probability that each is
/// real.
class GanStep final : public Step {
 public:
  explicit GanStep(Gan& gan) : gan_(gan) {}
  std::vector<std::string> losses() const override { return {"discriminator", "generator"}; }
  std::vector<std::string> scalars(const std::vector<std::string>& wanted) const override;
  NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) override;
  /// `loss` is the discriminator's on real and generated images: 2 ln 2 if it cannot distinguish them. Output `image`
  /// has the generated ones.
  Evaluated evaluate(const NamedTensors& batch) override;

 private:
  at::Tensor noise(const NamedTensors& batch) const;
  Gan& gan_;
};

}  // namespace flowtrain::nets
