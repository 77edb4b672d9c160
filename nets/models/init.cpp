#include "nets/models/init.h"

#include <ATen/ATen.h>
#include <torch/nn/init.h>

#include <array>
#include <cmath>
#include <numbers>

#include "nets/names.h"

namespace flowtrain::nets {
namespace {

namespace torch_init = torch::nn::init;

torch_init::FanModeType fan_of(const InitRule& rule) {
  if (rule.fan_out) return torch::kFanOut;
  return torch::kFanIn;
}

torch_init::NonlinearityType nonlinearity_of(const InitRule& rule) {
  if (rule.nonlinearity == "relu") return torch::kReLU;
  if (rule.nonlinearity == "leaky_relu") return torch::kLeakyReLU;
  if (rule.nonlinearity == "tanh") return torch::kTanh;
  if (rule.nonlinearity == "sigmoid") return torch::kSigmoid;
  if (rule.nonlinearity == "linear") return torch::kLinear;
  throw unknown_name("nonlinearity", rule.nonlinearity, {"relu", "leaky_relu", "tanh", "sigmoid", "linear"});
}

double normal_share_below(double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; }

// Draws by the inverse of the distribution, as torch.nn.init.trunc_normal_ does, which LibTorch lacks.
void draw_truncated(const at::Tensor& parameter, const InitRule& rule) {
  const at::NoGradGuard no_gradients;
  const double least = rule.range.empty() ? rule.mean - 2 * rule.std : rule.range.at(0);
  const double greatest = rule.range.empty() ? rule.mean + 2 * rule.std : rule.range.at(1);
  const double below = normal_share_below((least - rule.mean) / rule.std),
               up_to = normal_share_below((greatest - rule.mean) / rule.std);
  parameter.uniform_(2 * below - 1, 2 * up_to - 1);
  parameter.erfinv_().mul_(rule.std * std::numbers::sqrt2).add_(rule.mean).clamp_(least, greatest);
}

struct InitEntry {
  const char* name;
  std::int64_t least_dimensions;
  void (*draw)(const at::Tensor&, const InitRule&);
};

// The rules, sorted by name. xavier: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward
// neural networks", AISTATS 2010. kaiming: K. He et al., "Delving deep into rectifiers", ICCV 2015. orthogonal: A. Saxe
// et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", ICLR 2014.
constexpr std::array<InitEntry, 9> init_entries = {{
    {"constant", 0, [](const at::Tensor& tensor, const InitRule& rule) { torch_init::constant_(tensor, rule.value); }},
    {"kaiming_normal", 2,
     [](const at::Tensor& tensor, const InitRule& rule) {
       torch_init::kaiming_normal_(tensor, rule.negative_slope, fan_of(rule), nonlinearity_of(rule));
     }},
    {"kaiming_uniform", 2,
     [](const at::Tensor& tensor, const InitRule& rule) {
       torch_init::kaiming_uniform_(tensor, rule.negative_slope, fan_of(rule), nonlinearity_of(rule));
     }},
    {"normal", 0,
     [](const at::Tensor& tensor, const InitRule& rule) { torch_init::normal_(tensor, rule.mean, rule.std); }},
    {"orthogonal", 2,
     [](const at::Tensor& tensor, const InitRule& rule) { torch_init::orthogonal_(tensor, rule.gain); }},
    {"trunc_normal", 0, draw_truncated},
    {"uniform", 0,
     [](const at::Tensor& tensor, const InitRule& rule) {
       torch_init::uniform_(tensor, rule.range.at(0), rule.range.at(1));
     }},
    {"xavier_normal", 2,
     [](const at::Tensor& tensor, const InitRule& rule) { torch_init::xavier_normal_(tensor, rule.gain); }},
    {"xavier_uniform", 2,
     [](const at::Tensor& tensor, const InitRule& rule) { torch_init::xavier_uniform_(tensor, rule.gain); }},
}};

}  // namespace

void initialise(const at::Tensor& parameter, const InitRule& rule) {
  for (const InitEntry& entry : init_entries) {
    if (rule.name != entry.name) continue;
    if (parameter.dim() < entry.least_dimensions)
      throw std::invalid_argument(c10::str(rule.name, " is for tensors of ", entry.least_dimensions,
                                           " dimensions or more, but this one has ", parameter.dim()));
    return entry.draw(parameter, rule);
  }
  throw unknown_name("rule", rule.name, init_rule_names());
}

std::vector<std::string> init_rule_names() {
  std::vector<std::string> names;
  names.reserve(std::size(init_entries));
  for (const InitEntry& entry : init_entries) names.emplace_back(entry.name);
  return names;
}

}  // namespace flowtrain::nets
