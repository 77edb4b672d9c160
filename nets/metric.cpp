#include "nets/metric.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nets/names.h"

namespace flowtrain::nets {
namespace {

/// Share of the rows whose label is among the k largest logits. Hits are summed on the device, so that update() never
/// waits for it.
class TopK final : public Metric {
 public:
  explicit TopK(std::int64_t k) : k_(k) {}

  void update(const NamedTensors& outputs, const NamedTensors& batch) override {
    const at::NoGradGuard no_grad;
    const at::Tensor& logits = outputs.at("logits");  // (B, K)
    const at::Tensor& label = batch.at("label");      // (B)
    const at::Tensor best = std::get<1>(logits.topk(std::min(k_, logits.size(1)), 1));
    const at::Tensor hits = best.eq(label.unsqueeze(1)).sum();  // i64
    hits_ = hits_.defined() ? hits_ + hits : hits;
    rows_ += label.size(0);
  }

  std::vector<double> totals() const override {
    return {hits_.defined() ? hits_.item<double>() : 0, static_cast<double>(rows_)};
  }

  using Metric::value;
  double value(const std::vector<double>& totals) const override { return totals[1] > 0 ? totals[0] / totals[1] : 0; }

  void reset() override {
    hits_.reset();
    rows_ = 0;
  }

 private:
  std::int64_t k_;
  at::Tensor hits_;  ///< undefined before the first update
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_metric(const std::string& name) {
  if (name == "accuracy") return std::make_unique<TopK>(1);
  if (name == "top5") return std::make_unique<TopK>(5);
  throw unknown_name("metric", name, metric_names());
}

std::vector<std::string> metric_names() { return {"accuracy", "top5"}; }

}  // namespace flowtrain::nets
