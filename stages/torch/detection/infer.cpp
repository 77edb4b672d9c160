#include "stages/torch/detection/infer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

namespace flowtrain {
namespace {

constexpr std::int64_t most_at_once = 32;  // the crops of a picture; bounds what the net needs of memory

}  // namespace

Infer make_infer(Heads heads, const nets::DecodeOptions& options) {
  return [heads = std::move(heads), options](const at::Tensor& images, bool with_attention) {
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> detections;
    std::vector<std::vector<at::Tensor>> attention;
    for (const at::Tensor& some : images.split(most_at_once)) {
      const nets::NamedTensors maps = heads(some, with_attention);
      detections.push_back(nets::decode({maps.at("tl_heat"), maps.at("br_heat"), maps.at("tl_tag"), maps.at("br_tag"),
                                         maps.at("tl_off"), maps.at("br_off")},
                                        options));
      for (std::size_t size = 0; with_attention; ++size) {
        const std::string name = "att" + std::to_string(size);
        if (!maps.contains(name)) break;
        attention.resize(std::max(attention.size(), size + 1));
        attention[size].push_back(maps.at(name).sigmoid());
      }
    }
    Inference inference{at::cat(detections), {}};
    for (const auto& of_size : attention) inference.attention.push_back(at::cat(of_size));
    return inference;
  };
}

}  // namespace flowtrain
