#include "nets/losses/loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "nets/cornernet/loss.h"
#include "nets/labels.h"
#include "nets/names.h"

namespace flowtrain::nets {
namespace {

/// Of a mixed batch: `label`'s share, the rest being `second_label`'s. Of others 1.
double weight_of_label(const NamedTensors& batch) {
  return batch.contains("second_label") ? batch.at("label_weight").item<double>() : 1;
}

/// What compares logits with labels. On the CPU LibTorch refuses what does not fit, with a line of its own sources; on
/// a GPU a label without a logit would end the process, so where there may be one they are looked at first.
template <class Compute>
at::Tensor compared(const at::Tensor& logits, const at::Tensor& label, std::int64_t classes, Compute compute) try {
  if (!label.is_cpu() && logits.dim() > 1 && logits.size(1) < classes) check_labels(logits, label.cpu());
  return compute();
} catch (const c10::Error&) {
  if (at::isIntegralType(label.scalar_type(), /*includeBool=*/false)) check_labels(logits, label);
  throw;
}

class CrossEntropy final : public Loss {
 public:
  explicit CrossEntropy(const LossSpec& spec) : label_smoothing_(spec.label_smoothing), classes_(spec.classes) {}

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

class MeanSquaredError final : public Loss {
 public:
  explicit MeanSquaredError(std::int64_t classes) : classes_(classes) {}

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const at::Tensor& logits = outputs.at("logits");
    const at::Tensor target = batch.contains("target") ? batch.at("target") : target_of_labels(batch, logits);
    if (target.sizes() != logits.sizes()) {  // mse_loss would broadcast
      throw std::invalid_argument(
          c10::str("loss mse: target has shape ", target.sizes(), ", expected that of logits, ", logits.sizes()));
    }
    return {{"loss", at::mse_loss(logits, target)}};
  }

 private:
  at::Tensor target_of_labels(const NamedTensors& batch, const at::Tensor& logits) const {
    const double weight = weight_of_label(batch);
    const at::Tensor target = one_hot(batch.at("label"), logits);
    return weight == 1 ? target : weight * target + (1 - weight) * one_hot(batch.at("second_label"), logits);
  }

  /// at::one_hot would read the labels back to the host to check them.
  at::Tensor one_hot(const at::Tensor& label, const at::Tensor& logits) const {
    return compared(logits, label, classes_, [&] { return at::zeros_like(logits).scatter_(1, label.unsqueeze(1), 1); });
  }

  std::int64_t classes_;
};

/// Of a script that returns it.
class OutputLoss final : public Loss {
 public:
  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors&) const override {
    if (!outputs.contains("loss"))
      throw std::invalid_argument(
          "loss output: the net gives no 'loss'; a script does, whose forward returns a dict with one");
    const at::Tensor& loss = outputs.at("loss");
    if (loss.numel() != 1)
      throw std::invalid_argument(
          c10::str("loss output: the net's 'loss' has shape ", loss.sizes(), ", expected one number"));
    return {{"loss", loss.reshape({}).to(at::kFloat)}};
  }
};

}  // namespace

std::unique_ptr<Loss> make_loss(const LossSpec& spec) {
  const auto known = loss_names();
  if (std::find(known.begin(), known.end(), spec.name) == known.end()) throw unknown_name("loss", spec.name, known);
  if (!(spec.label_smoothing >= 0 && spec.label_smoothing < 1)) {
    throw std::invalid_argument("loss " + spec.name + ": label_smoothing is " + std::to_string(spec.label_smoothing) +
                                ", expected 0 <= label_smoothing < 1");
  }
  if (spec.name == "cross_entropy") return std::make_unique<CrossEntropy>(spec);
  if (spec.label_smoothing > 0) {
    throw std::invalid_argument("loss " + spec.name + " has no label_smoothing, only cross_entropy has");
  }
  if (spec.name == "mse") return std::make_unique<MeanSquaredError>(spec.classes);
  if (spec.name == "output") return std::make_unique<OutputLoss>();
  return make_corner_loss(spec, spec.name == "cornernet_saccade");
}

std::vector<std::string> loss_names() { return {"cornernet", "cornernet_saccade", "cross_entropy", "mse", "output"}; }

}  // namespace flowtrain::nets
