#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <stdexcept>

#include "nets/labels.h"
#include "nets/losses/loss.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

class MeanSquaredError final : public Loss {
 public:
  explicit MeanSquaredError(std::int64_t classes) : classes_(classes) {}

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const at::Tensor& logits = outputs.at("logits");
    const at::Tensor target =
        batch.contains("target") ? as_real(batch.at("target"), logits) : target_of_labels(batch, logits);
    if (target.sizes() != logits.sizes()) {  // mse_loss would broadcast
      throw std::invalid_argument(
          c10::str("loss mse: target has shape ", target.sizes(), ", expected that of logits, ", logits.sizes()));
    }
    return {{"loss", at::mse_loss(logits, target)}};
  }

 private:
  /// Returns whole numbers, and those of double precision, in the type of the logits, which the gradients have.
  static at::Tensor as_real(const at::Tensor& target, const at::Tensor& logits) {
    const bool is_real = target.is_floating_point() && target.scalar_type() != at::kDouble;
    return is_real ? target : target.to(logits.scalar_type());
  }

  at::Tensor target_of_labels(const NamedTensors& batch, const at::Tensor& logits) const {
    const double weight = weight_of_label(batch);
    const at::Tensor target = one_hot(batch.at("label"), logits);
    return weight == 1 ? target : weight * target + (1 - weight) * one_hot(batch.at("second_label"), logits);
  }

  /// This avoids at::one_hot, which reads the labels back to the host to check them.
  at::Tensor one_hot(const at::Tensor& label, const at::Tensor& logits) const {
    return compared(logits, label, classes_, [&] { return at::zeros_like(logits).scatter_(1, label.unsqueeze(1), 1); });
  }

  std::int64_t classes_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(mse) {
  parts.losses.add(
      {"mse",
       "mean squared error of `logits` and the one-hot `label`, or of `logits` and `target` if the batch has it",
       {},
       FLOWTRAIN_MAKE(
           [](const Settings&, const LossInput& input) { return std::make_unique<MeanSquaredError>(input.classes); })});
}

}  // namespace flowtrain::nets
