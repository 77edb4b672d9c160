#include "pipeline/inference/predict/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace flowtrain {

std::vector<ClassScore> best_classes(std::span<const float> logits, std::size_t count) {
  std::vector<std::int64_t> labels(logits.size());
  std::iota(labels.begin(), labels.end(), 0);
  const auto logit = [&](std::int64_t label) {  // a NaN is sorted last
    const float value = logits[static_cast<std::size_t>(label)];
    return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
  };
  count = std::min(count, labels.size());
  std::partial_sort(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(count), labels.end(),
                    [&](auto a, auto b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  if (count == 0) return {};
  const double greatest = logit(labels[0]);
  double sum = 0;
  for (const float each : logits) sum += std::exp(each - greatest);
  std::vector<ClassScore> top;
  for (std::size_t i = 0; i < count; ++i) top.push_back({labels[i], std::exp(logit(labels[i]) - greatest) / sum});
  return top;
}

}  // namespace flowtrain
