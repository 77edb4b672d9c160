#include "stages/torch/detection/detector.h"

#include <torch/types.h>

#include <algorithm>
#include <string>

#include "nets/cornernet/cornernet.h"
#include "sampling/core/settings.h"

namespace flowtrain {
namespace {

constexpr std::int64_t most_at_once = 32;  // number of a picture's crops; bounds the net's memory

std::array<int, 2> pair_of(const Settings& settings, const std::string& key) {
  const auto& sides = settings.integers(key);
  return {static_cast<int>(sides.at(0)), static_cast<int>(sides.at(1))};
}

std::vector<int> ints_of(const Settings& settings, const std::string& key) {
  const auto& values = settings.integers(key);
  return {values.begin(), values.end()};
}

nets::DecodeOptions decode_options(const DetectSpec& spec, bool saccade) {
  nets::DecodeOptions options;
  options.top_k = spec.detect.integer("top_k");
  options.nms_kernel = spec.detect.integer("nms_kernel");
  options.ae_threshold = spec.detect.real("ae_threshold");
  options.num_dets = spec.detect.integer("num_dets");
  options.no_border = saccade;
  return options;
}

template <class Options>
Options common_options(const DetectSpec& spec) {
  Options options;
  options.input_size = pair_of(spec.sampler, "input_size");
  options.output_size = pair_of(spec.sampler, "output_size");
  options.categories = static_cast<int>(spec.classes);
  options.nms_algorithm = nms_method(spec.detect.text("nms_algorithm"));
  options.nms_threshold = static_cast<float>(spec.detect.real("nms_threshold"));
  options.max_per_image = static_cast<std::size_t>(spec.detect.integer("max_per_image"));
  return options;
}

CornerNetOptions cornernet_options(const DetectSpec& spec) {
  auto options = common_options<CornerNetOptions>(spec);
  options.test_scales = spec.detect.reals("test_scales");
  options.test_flipped = spec.detect.boolean("test_flipped");
  options.merge_bbox = spec.detect.boolean("merge_bbox");
  options.weight_exp = static_cast<float>(spec.detect.real("weight_exp"));
  options.mirror = spec.sampler.text("quirks") == "mirror";
  return options;
}

SaccadeOptions saccade_options(const DetectSpec& spec) {
  auto options = common_options<SaccadeOptions>(spec);
  options.init_sizes = ints_of(spec.detect, "init_sizes");
  options.att_ratios = ints_of(spec.sampler, "att_ratios");
  options.att_nms_ks = ints_of(spec.detect, "att_nms_ks");
  options.att_scales = {spec.detect.reals("att_scales")};
  options.att_thresholds = {static_cast<float>(spec.detect.real("att_threshold"))};
  options.att_max_crops = static_cast<std::size_t>(spec.detect.integer("att_max_crops"));
  options.ref_dets = spec.detect.boolean("ref_dets");
  return options;
}

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

std::unique_ptr<Detector> detector_through(std::shared_ptr<nets::CornerNet> net, const DetectSpec& spec) {
  const bool saccade = net->has_attention();
  const Heads heads = [net = std::move(net), saccade, device = at::Device(spec.device)](const at::Tensor& images,
                                                                                        bool attention) {
    return net->detect(images.to(device), saccade && attention);
  };
  const Infer infer = make_infer(heads, decode_options(spec, saccade));
  return saccade ? make_saccade_detector(saccade_options(spec), infer)
                 : make_cornernet_detector(cornernet_options(spec), infer);
}

}  // namespace flowtrain
