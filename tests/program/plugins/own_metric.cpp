// A metric for tests: the share of rows whose label is among the largest logits, as top1 and so on.

#include <ATen/ATen.h>

#include <algorithm>

#include "nets/metrics/metric.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class AmongLargest final : public nets::Metric {
 public:
  AmongLargest(const Settings& settings, std::int64_t classes)
      : largest_(std::min(settings.integer("largest"), classes)) {}

  void update(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) override {
    const at::Tensor label = batch.at("label");
    const at::Tensor places = std::get<1>(outputs.at("logits").topk(largest_, 1));
    right_ += places.eq(label.unsqueeze(1)).any(1).sum().item<double>();
    rows_ += static_cast<double>(label.size(0));
  }
  std::vector<double> totals() const override { return {right_, rows_}; }
  std::vector<double> scalars(const std::vector<double>& totals) const override {
    return {totals[1] > 0 ? totals[0] / totals[1] : 0};
  }
  void reset() override { right_ = rows_ = 0; }

 private:
  std::int64_t largest_;
  double right_ = 0, rows_ = 0;
};

void add() {
  nets::metrics().add({"own_metric",
                       "share of rows whose label is among the largest logits",
                       {{"largest", Kind::integer, std::int64_t{1}, "how many", 1, 1000}},
                       [](const Settings& settings, const nets::MetricInput& input) {
                         return std::make_unique<AmongLargest>(settings, input.classes);
                       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
