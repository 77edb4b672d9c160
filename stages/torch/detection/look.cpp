#include "stages/torch/detection/look.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

namespace flowtrain {
namespace {

constexpr std::int64_t most_at_once = 32;  // the crops of a picture; bounds what the net needs of memory

std::string last_stack(const nets::NamedTensors& outputs) {
  int stack = 0;
  while (outputs.contains("tl_heat" + std::to_string(stack + 1))) ++stack;
  return std::to_string(stack);
}

}  // namespace

Look look_through(Heads heads, const nets::DecodeOptions& options) {
  return [heads = std::move(heads), options](const at::Tensor& images, bool with_attention) {
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> detections;
    std::vector<std::vector<at::Tensor>> attention;
    for (const at::Tensor& some : images.split(most_at_once)) {
      const nets::NamedTensors outputs = heads(some, with_attention);
      const std::string stack = last_stack(outputs);
      const auto map = [&](const std::string& name) { return outputs.at(name + stack); };
      detections.push_back(nets::decode(
          {map("tl_heat"), map("br_heat"), map("tl_tag"), map("br_tag"), map("tl_off"), map("br_off")}, options));
      for (std::size_t size = 0; with_attention; ++size) {
        const std::string name = "att" + stack + "_" + std::to_string(size);
        if (!outputs.contains(name)) break;
        attention.resize(std::max(attention.size(), size + 1));
        attention[size].push_back(outputs.at(name).sigmoid());
      }
    }
    Glimpse glimpse{at::cat(detections), {}};
    for (const auto& of_size : attention) glimpse.attention.push_back(at::cat(of_size));
    return glimpse;
  };
}

}  // namespace flowtrain
