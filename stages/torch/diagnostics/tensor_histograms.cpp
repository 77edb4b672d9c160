#include "stages/torch/diagnostics/tensor_histograms.h"

#include <ATen/ATen.h>

#include <numeric>

#include "stages/torch/readout.h"

namespace flowtrain {

namespace {

constexpr std::int64_t steps = 64;

// Places of the numbers of one histogram in the readout.
struct Asked {
  std::string name;
  std::size_t summary = 0, counts = 0;
};

void ask(Readout& read, std::vector<Asked>& asked, std::string name, const at::Tensor& tensor) {
  const at::Tensor all = tensor.detach().flatten().to(at::kFloat);
  const at::Tensor values = all.masked_select(all.isfinite());
  if (values.numel() == 0) return;
  const at::Tensor exact = values.to(at::kDouble);
  asked.push_back({std::move(name), read.ask(at::stack({exact.min(), exact.max(), exact.sum(), exact.square().sum()})),
                   read.ask(at::histc(values, steps))});  // bins from the least to the greatest value
}

}  // namespace

Histograms tensor_histograms(const nets::NamedTensors& parameters) {
  const at::NoGradGuard no_gradients;
  Readout read;
  std::vector<Asked> asked;
  for (const auto& [name, parameter] : parameters) {
    ask(read, asked, "weights/" + name, parameter);
    if (parameter.grad().defined()) ask(read, asked, "gradients/" + name, parameter.grad());
  }
  read.fetch();
  Histograms all;
  for (auto& [name, summary, counts] : asked) {
    const auto of_all = read[summary], in_steps = read[counts];
    auto& histogram = all.emplace_back(Histogram{name, of_all[0], of_all[1], of_all[2], of_all[3], {}});
    if (of_all[0] < of_all[1])
      histogram.counts.assign(in_steps.begin(), in_steps.end());
    else  // all values are the same, and histc has widened the range
      histogram.counts = {std::accumulate(in_steps.begin(), in_steps.end(), 0.0)};
  }
  return all;
}

}  // namespace flowtrain
