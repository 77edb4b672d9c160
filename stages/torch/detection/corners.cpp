#include "stages/detection/detector_entries.h"

#if FLOWTRAIN_COMPUTES
#include <torch/types.h>

#include <algorithm>
#include <string>

#include "nets/net.h"
#include "sampling/core/mistake.h"
#include "stages/torch/detection/detector.h"
#endif

namespace flowtrain {

namespace {

const std::vector<std::string> corner_maps{"tl_heat", "br_heat", "tl_tag", "br_tag", "tl_off", "br_off"},
    saccade_maps{"tl_heat", "br_heat", "tl_tag", "br_tag", "tl_off", "br_off", "att0", "att1", "att2"};

}  // namespace

#if FLOWTRAIN_COMPUTES
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

nets::DecodeOptions decode_options(const Settings& detect, bool saccade) {
  nets::DecodeOptions options;
  options.top_k = detect.integer("top_k");
  options.nms_kernel = detect.integer("nms_kernel");
  options.ae_threshold = detect.real("ae_threshold");
  options.num_dets = detect.integer("num_dets");
  options.no_border = saccade;
  return options;
}

// The maps' sizes are the sampler's, which makes the targets for them.
void check_sampler(const Settings& sampler, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (!sampler.has(key))
      throw Mistake("it reads sampler." + key + ", and the sampler '" + sampler.text("name") + "' has no such key",
                    "name a sampler of the CornerNet family, or another detector");
}

template <class Options>
Options common_options(const Settings& detect, const DetectorInput& input) {
  check_sampler(input.sampler, {"input_size", "output_size", "quirks"});
  Options options;
  options.input_size = pair_of(input.sampler, "input_size");
  options.output_size = pair_of(input.sampler, "output_size");
  options.categories = static_cast<int>(input.classes);
  options.nms_algorithm = nms_method(detect.text("nms_algorithm"));
  options.nms_threshold = static_cast<float>(detect.real("nms_threshold"));
  options.max_per_image = static_cast<std::size_t>(detect.integer("max_per_image"));
  return options;
}

CornerNetOptions cornernet_options(const Settings& detect, const DetectorInput& input) {
  auto options = common_options<CornerNetOptions>(detect, input);
  options.test_scales = detect.reals("test_scales");
  options.test_flipped = detect.boolean("test_flipped");
  options.merge_bbox = detect.boolean("merge_bbox");
  options.weight_exp = static_cast<float>(detect.real("weight_exp"));
  options.mirror = input.sampler.text("quirks") == "mirror";
  return options;
}

SaccadeOptions saccade_options(const Settings& detect, const DetectorInput& input) {
  auto options = common_options<SaccadeOptions>(detect, input);
  check_sampler(input.sampler, {"att_ratios"});
  options.init_sizes = ints_of(detect, "init_sizes");
  options.att_ratios = ints_of(input.sampler, "att_ratios");
  options.att_nms_ks = ints_of(detect, "att_nms_ks");
  options.att_scales = {detect.reals("att_scales")};
  options.att_thresholds = {static_cast<float>(detect.real("att_threshold"))};
  options.att_max_crops = static_cast<std::size_t>(detect.integer("att_max_crops"));
  options.ref_dets = detect.boolean("ref_dets");
  return options;
}

Infer infer_through(const Settings& detect, const DetectorInput& input, bool saccade) {
  const Heads heads = [&net = input.net, device = at::Device(input.device)](const at::Tensor& images, bool attention) {
    return net.outputs({{"image", images.to(device)}}, attention ? saccade_maps : corner_maps);
  };
  return make_infer(heads, decode_options(detect, saccade));
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

#endif

namespace {

std::vector<Key> corner_keys(const std::vector<Key>& own) {
  std::vector<Key> keys{
      {"top_k", Kind::integer, std::int64_t{100}, "number of corners kept for each kind", 1, 10'000},
      {"num_dets", Kind::integer, std::int64_t{1000}, "number of corner pairs kept", 1, 1'000'000},
      {"ae_threshold", Kind::real, 0.5, "largest difference between the tags of two corners of one object", 0, 1e300},
      {"nms_kernel", Kind::integer, std::int64_t{3},
       "side of the window in which a corner must have the largest score of its kind, in cells", 1, 99}};
  for (const auto& more : {nms_keys("exp_soft_nms"), own}) keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

const std::vector<Key> scale_keys = {
    {"merge_bbox", Kind::boolean, false, "replace each box by a weighted mean of the boxes that overlap it"},
    {"weight_exp", Kind::real, 8.0, "speed at which a box's weight falls with its distance, for merge_bbox", 0, 1e300},
    {"test_scales", Kind::reals, std::vector<double>{1}, "scale factors at which the image is searched", 0.01, 16},
    {"test_flipped", Kind::boolean, true, "search the mirrored image, too"}};

const std::vector<Key> saccade_keys = {
    {"init_sizes", Kind::integers, std::vector<std::int64_t>{192, 255},
     "long sides to which the whole image is resized for the first search, in pixels", 16, 4096},
    {"att_scales", Kind::reals, std::vector<double>{1, 2, 4}, "zoom factors for large, medium and small objects", 0.1,
     100},
    {"att_threshold", Kind::real, 0.3, "smallest attention value that makes a place a candidate for zooming", 0, 1},
    {"att_nms_ks", Kind::integers, std::vector<std::int64_t>{3, 3, 3},
     "side of the suppression window of each attention map, in cells", 1, 99},
    {"att_max_crops", Kind::integer, std::int64_t{30}, "largest number of places to zoom in on in an image", 1, 10'000},
    {"ref_dets", Kind::boolean, true, "zoom in on the objects that the first searches found, too"}};

}  // namespace

FLOWTRAIN_DETECTORS(corners) {
  detectors.add({"cornernet",
                 "finds pairs of corners in the whole image at several scales, for cornernet and cornernet_squeeze",
                 corner_keys(scale_keys),
                 FLOWTRAIN_MAKE([](const Settings& detect, const DetectorInput& input) {
                   return make_cornernet_detector(cornernet_options(detect, input),
                                                  infer_through(detect, input, /*saccade=*/false));
                 }),
                 {.outputs = corner_maps}});
  detectors.add({"cornernet_saccade",
                 "finds pairs of corners in a small image, then zooms in on places of attention, for cornernet_saccade",
                 corner_keys(saccade_keys),
                 FLOWTRAIN_MAKE([](const Settings& detect, const DetectorInput& input) {
                   return make_saccade_detector(saccade_options(detect, input),
                                                infer_through(detect, input, /*saccade=*/true));
                 }),
                 {.outputs = saccade_maps}});
}

}  // namespace flowtrain
