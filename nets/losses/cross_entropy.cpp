#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/labels.h"
#include "nets/losses/loss.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Cross entropy. A mixed batch, with `second_label` (B) and `label_weight` () f64 on the CPU, has a weighted sum.
class CrossEntropy final : public Loss {
 public:
  CrossEntropy(const Settings& settings, const LossInput& input)
      : label_smoothing_(settings.real("label_smoothing")), classes_(input.classes) {}

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const auto against = [&](const char* label) {
      constexpr std::int64_t ignore_nothing = -100;  // torch's default; no class has a negative number
      const at::Tensor &logits = outputs.at("logits"), &labels = batch.at(label);
      return compared(logits, labels, classes_, [&] {
        return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, ignore_nothing,
                                      label_smoothing_);
      });
    };
    const double weight = weight_of_label(batch);
    if (weight == 1) return {{"loss", against("label")}};
    return {{"loss", weight * against("label") + (1 - weight) * against("second_label")}};
  }

 private:
  double label_smoothing_;
  std::int64_t classes_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(cross_entropy) {
  parts.losses.add({"cross_entropy",
                    "cross entropy of `logits` and the classes in `label`",
                    {{"label_smoothing", Kind::real, 0.0,
                      "share of the target that is spread over all classes (C. Szegedy et al., CVPR 2016)", 0, 0.999}},
                    FLOWTRAIN_MAKE([](const Settings& settings, const LossInput& input) {
                      return std::make_unique<CrossEntropy>(settings, input);
                    })});
}

}  // namespace flowtrain::nets
