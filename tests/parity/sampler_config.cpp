#include "tests/parity/sampler_config.h"

#include "tests/parity/ops.h"

namespace flowtrain::parity {
namespace {

using Integers = std::vector<std::int64_t>;

/// Keys of the same table that concern other steps than sampling.
constexpr const char* other_keys[] = {
    "max_scale",  "view_sizes",    "init_sizes",    "att_scales",     "att_thresholds", "att_nms_ks",
    "ref_dets",   "att_max_crops", "test_scales",   "test_flipped",   "top_k",          "num_dets",
    "nms_kernel", "ae_threshold",  "nms_algorithm", "nms_threshold",  "merge_bbox",     "weight_exp",
    "data_aug",   "max_per_set",   "max_per_image", "score_threshold"};

Extent extent(const std::vector<int>& sides, const std::string& key) {
  if (sides.size() != 2 || sides[0] <= 0 || sides[1] <= 0)
    throw BadCall("configuration: " + key + ": not [height, width]");
  return {sides[0], sides[1]};
}

std::vector<AttentionMap> attention(const Arguments& set, const Extent& input) {
  Integers ranges;
  for (auto& range : set.get<std::vector<Integers>>("att_ranges", {{96, 256}, {32, 96}, {0, 32}}))
    ranges.insert(ranges.end(), range.begin(), range.end());
  const auto sizes = set.get<Integers>("att_sizes", {16, 32, 64}), ratios = set.get<Integers>("att_ratios", {16, 8, 4});
  return attention_maps(sizes, ratios, ranges, input);
}

}  // namespace

CornerOptions reference_options(json config, bool saccade) {
  if (!config.is_object()) throw BadCall("\"config\" is not a table");
  for (const char* key : other_keys) config.erase(key);
  // A null is a default, but for the scales: there the default is [1], and null means the range.
  const bool range = config.contains("rand_scales") && config["rand_scales"].is_null();
  for (auto entry = config.begin(); entry != config.end();)
    entry = entry->is_null() ? config.erase(entry) : std::next(entry);

  const Arguments set(config);
  CornerOptions options;
  options.saccade = saccade;
  options.mirror = true;
  options.classes = set.get<std::int64_t>("categories", 80);
  options.input_size = extent(set.get<std::vector<int>>("input_size", {383, 383}), "input_size");
  const auto outputs = set.get<std::vector<std::vector<int>>>("output_sizes", {{96, 96}});
  options.output_size = extent(outputs.empty() ? std::vector<int>() : outputs[0], "output_sizes");
  options.scales =
      scale_range(set.get("rand_scale_min", 0.8), set.get("rand_scale_max", 1.4), set.get("rand_scale_step", 0.2));
  if (!range) options.scales = set.get<std::vector<double>>("rand_scales", {1});
  options.rand_crop = set.get("rand_crop", false);
  options.rand_color = set.get("rand_color", false);
  options.lighting = set.get("lighting", true);
  options.gaussian_window = set.get("gaussian_bump", false);
  if (saccade) options.rand_color = options.lighting = options.gaussian_window = true;  // whatever is written
  options.rand_center = set.get("rand_center", true);
  options.border = set.get("border", 64);
  options.gaussian_iou = set.get("gaussian_iou", 0.7);
  options.gaussian_radius = set.get("gaussian_radius", -1);
  options.min_scale = set.get("min_scale", 16);
  auto maps = attention(set, options.input_size);
  if (saccade) options.attention = std::move(maps);
  set.check_all_read();
  return options;
}

}  // namespace flowtrain::parity
