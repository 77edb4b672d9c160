#include "sampling/samplers/cornernet/options.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sampling/core/text.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {
namespace {

using Integers = std::vector<std::int64_t>;

std::vector<Key> common_keys(bool saccade) {
  const std::int64_t input = saccade ? 255 : 511, output = saccade ? 64 : 128;
  return {
      {"input_size", Kind::integers, Integers{input, input}, "height and width of the image", 16, 4096},
      {"output_size", Kind::integers, Integers{output, output},
       "height and width of the heat maps; CornerNet-Squeeze: [64, 64]", 1, 4096},
      {"rand_scales", Kind::reals, std::vector<double>(), "scales to draw from; empty: rand_scale_min, _max, _step",
       0.05, 4},
      {"rand_scale_min", Kind::real, saccade ? 0.5 : 0.6, "smallest scale", 0.05, 4},
      {"rand_scale_max", Kind::real, saccade ? 1.1 : 1.4, "end of the scales, which is excluded", 0.05, 4},
      {"rand_scale_step", Kind::real, 0.1, "step from one scale to the next", 0.001, 4},
      {"gaussian_iou", Kind::real, saccade ? 0.5 : 0.3,
       "least overlap with the true box of boxes whose corners lie within a Gaussian's radius", 0.01, 0.99},
      {"gaussian_radius", Kind::integer, std::int64_t{-1}, "radius of Gaussians in cells; -1: from gaussian_iou", -1,
       4096},
      {"max_objects", Kind::integer, std::int64_t{128},
       "largest number of objects of an image that get tags and offsets; the largest objects are preferred", 1, 4096},
      choice_key("quirks", "mend",
                 "treatment of the reference's quirks: mirror augments validation like training and refuses too many "
                 "objects; mend validates at scale 1 from the middle, and keeps the largest objects",
                 {"mend", "mirror"}),
      warnings_key(),
      exif_key("apply"),  // cv2.imread(), with which the reference reads, applies it
  };
}

std::vector<Key> own_keys(bool saccade) {
  if (!saccade)
    return {{"rand_crop", Kind::boolean, true, "cut a part of a random scale; false: stretch the whole image"},
            {"border", Kind::integer, std::int64_t{128},
             "least distance of a cut part's centre from the image's edges in pixels, less in small images", 1, 65536},
            {"rand_color", Kind::boolean, true, "jitter brightness, contrast and saturation by up to 0.4"},
            {"lighting", Kind::boolean, true, "add noise along the main colour axes, with rand_color"},
            {"gaussian_bump", Kind::boolean, true, "Gaussians on the heat maps; false: one 1 at each corner"}};
  return {{"rand_crop", Kind::boolean, false, "cut 30 % of the parts at random, not around an object"},
          {"rand_center", Kind::boolean, true, "cut half of the parts with their object near the middle"},
          {"min_scale", Kind::integer, std::int64_t{16},
           "shortest long side of objects, in pixels; smaller ones are left out", 0, 4096},
          {"att_sizes", Kind::integers, Integers{16, 32, 64}, "sides of the attention maps, in cells", 1, 4096},
          {"att_ratios", Kind::integers, Integers{16, 8, 4}, "cell size of each attention map, in pixels", 1, 4096},
          {"att_ranges", Kind::integers, Integers{96, 256, 32, 96, 0, 32},
           "least and most long side of the objects on each attention map, in pixels", 0, 4096}};
}

Extent extent(const Settings& settings, const std::string& name) {
  const auto& sides = settings.integers(name);
  if (sides.size() != 2)
    throw settings.error(name, "must be [height, width]", ExitCode::usage, "write it like " + name + " = [511, 511]");
  return {static_cast<int>(sides[0]), static_cast<int>(sides[1])};
}

std::vector<double> scales(const Settings& settings) {
  if (const auto& given = settings.reals("rand_scales"); !given.empty()) return given;
  const double least = settings.real("rand_scale_min"), most = settings.real("rand_scale_max");
  if (least >= most) throw settings.error("rand_scale_max", "must be greater than rand_scale_min, or no scale is left");
  return scale_range(least, most, settings.real("rand_scale_step"));
}

}  // namespace

std::vector<Key> corner_keys(bool saccade) {
  auto keys = common_keys(saccade);
  for (auto& key : own_keys(saccade)) keys.push_back(std::move(key));
  return keys;
}

std::vector<double> scale_range(double least, double most, double step) {
  const double delta = (least + step) - least;  // numpy steps by this rounded `step`
  std::vector<double> scales;
  for (int i = 0; i < static_cast<int>(std::ceil((most - least) / step)); ++i) scales.push_back(least + i * delta);
  return scales;
}

std::vector<AttentionMap> attention_maps(const Integers& sizes, const Integers& ratios, const Integers& ranges,
                                         const Extent& input) {
  if (ratios.size() != sizes.size() || ranges.size() != 2 * sizes.size())
    throw std::invalid_argument(
        concat("has ", sizes.size(), " maps; att_ratios must have as many values, ", "att_ranges twice as many"));
  std::vector<AttentionMap> maps;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto needed = (std::max(input.height, input.width) - 1) / ratios[i] + 1;
    if (sizes[i] < needed)
      throw std::invalid_argument(concat("map ", i, " has ", sizes[i], " cells a side, but an input of ", input.height,
                                         "x", input.width, " at ", ratios[i], " pixels a cell needs ", needed));
    maps.push_back({static_cast<int>(sizes[i]), static_cast<int>(ratios[i]), static_cast<double>(ranges[2 * i]),
                    static_cast<double>(ranges[2 * i + 1])});
  }
  return maps;
}

CornerOptions corner_options(const Settings& settings, bool saccade, bool training, std::int64_t classes) {
  CornerOptions options;
  options.saccade = saccade;
  options.mirror = settings.text("quirks") == "mirror";
  options.augment = training || options.mirror;
  options.classes = classes;
  options.input_size = extent(settings, "input_size");
  options.output_size = extent(settings, "output_size");
  if (options.output_size.height > options.input_size.height || options.output_size.width > options.input_size.width)
    throw settings.error("output_size", "is larger than input_size");
  options.scales = scales(settings);
  options.rand_crop = settings.boolean("rand_crop");
  options.gaussian_iou = settings.real("gaussian_iou");
  options.gaussian_radius = static_cast<int>(settings.integer("gaussian_radius"));
  options.max_objects = static_cast<int>(settings.integer("max_objects"));
  if (!saccade) {
    options.border = static_cast<int>(settings.integer("border"));
    options.rand_color = settings.boolean("rand_color");
    options.lighting = settings.boolean("lighting");
    options.gaussian_window = settings.boolean("gaussian_bump");
    return options;
  }
  options.rand_center = settings.boolean("rand_center");
  options.min_scale = static_cast<int>(settings.integer("min_scale"));
  try {
    options.attention = attention_maps(settings.integers("att_sizes"), settings.integers("att_ratios"),
                                       settings.integers("att_ranges"), options.input_size);
  } catch (const std::invalid_argument& error) {
    throw settings.error("att_sizes", error.what());
  }
  return options;
}

}  // namespace flowtrain
