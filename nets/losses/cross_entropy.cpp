#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <optional>
#include <variant>

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
      : label_smoothing_(settings.real("label_smoothing")), classes_(input.classes) {
    if (const auto* const index = std::get_if<std::int64_t>(&settings.value("ignore_index"))) ignored_ = *index;
  }

  bool counts() const override { return ignored_.has_value(); }

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const at::Tensor& logits = outputs.at("logits");
    const double weight = weight_of_label(batch);
    if (counts()) return counted(logits, batch, weight);
    const auto against = [&](const char* label) { return compared_with(logits, batch.at(label), at::Reduction::Mean); };
    if (weight == 1) return {{"loss", against("label")}};
    return {{"loss", weight * against("label") + (1 - weight) * against("second_label")}};
  }

 private:
  static constexpr std::int64_t no_class = -100;  // torch's default; no class has a negative number

  at::Tensor compared_with(const at::Tensor& logits, const at::Tensor& labels, at::Reduction::Reduction by) const {
    return compared(logits, labels, classes_, [&] {
      const auto [rows, of_rows] = side_by_side(logits, labels);
      return at::cross_entropy_loss(rows, of_rows, /*weight=*/{}, by, no_class, label_smoothing_);
    });
  }

  NamedTensors counted(const at::Tensor& logits, const NamedTensors& batch, double weight) const {
    at::Tensor sum, count;
    const auto add = [&](const char* name, double share) {
      const at::Tensor& labels = batch.at(name);
      // Rows of text end with labels of -100, whatever other label does not count.
      const at::Tensor ignored =
          *ignored_ == no_class ? labels.eq(no_class) : labels.eq(*ignored_).logical_or(labels.eq(no_class));
      const at::Tensor entropy = compared_with(logits, labels.masked_fill(ignored, no_class), at::Reduction::Sum);
      const at::Tensor terms = ignored.logical_not().sum();
      sum = sum.defined() ? sum + share * entropy : share == 1 ? entropy : share * entropy;
      count = count.defined() ? count + share * terms : share == 1 ? terms : share * terms;
    };
    add("label", weight);
    if (weight != 1) add("second_label", 1 - weight);
    return {{"loss", mean_of(sum, count)}, {"count", count}};
  }

  double label_smoothing_;
  std::int64_t classes_;
  std::optional<std::int64_t> ignored_;  // the label that does not count
};

}  // namespace
#endif

FLOWTRAIN_PARTS(cross_entropy) {
  parts.losses.add({"cross_entropy",
                    "cross entropy of `logits` (B, K, …) and the classes in `label` (B, …)",
                    {{"label_smoothing", Kind::real, 0.0,
                      "share of the target that is spread over all classes (C. Szegedy et al., CVPR 2016)", 0, 0.999},
                     {.name = "ignore_index",
                      .kind = Kind::integer_or_text,
                      .fallback = std::string("none"),
                      .help = "label that does not count: the mean is over all other labels of an iteration",
                      .choices = {"none"}}},
                    FLOWTRAIN_MAKE([](const Settings& settings, const LossInput& input) {
                      return std::make_unique<CrossEntropy>(settings, input);
                    })});
}

}  // namespace flowtrain::nets
