#pragma once
// The options of the CornerNet samplers: keys of their table, and the values.

#include <cstdint>
#include <vector>

namespace flowtrain {

struct Key;
class Settings;

/// Height and width in pixels or cells.
struct Extent {
  int height, width;
};

/// A map of CornerNet-Saccade's attention: square, `size` cells a side, `ratio` input pixels a cell, for objects whose
/// long side is from `least` to `most` input pixels, both included.
struct AttentionMap {
  int size, ratio;
  double least, most;
};

/// The members have the meaning of the keys of the same name.
struct CornerOptions {
  bool saccade = false;  ///< sampler cornernet_saccade, not cornernet
  bool mirror = false;   ///< quirks = "mirror"
  bool augment = true;   ///< in training; mirrored: always
  std::int64_t classes = 0;
  Extent input_size{}, output_size{};
  std::vector<double> scales;  ///< rand_scales, or the range
  bool rand_crop = true, rand_color = true, lighting = true, rand_center = true, gaussian_window = true;
  int border = 128;
  double gaussian_iou = 0.3;
  int gaussian_radius = -1;
  int min_scale = 16;
  int max_objects = 128;
  std::vector<AttentionMap> attention;  ///< of cornernet_saccade only
};

/// The keys of `cornernet`, or of `cornernet_saccade`; the defaults are those of the published configurations.
std::vector<Key> corner_keys(bool saccade);

/// The values, checked together. Throws UserError(usage).
CornerOptions corner_options(const Settings& settings, bool saccade, bool training, std::int64_t classes);

/// least, least + step, … below `most`, as numpy's arange counts them: rounding decides whether `most` is among them.
std::vector<double> scale_range(double least, double most, double step);

/// Throws std::invalid_argument where the attention maps' lists differ in length (`ranges` holds two numbers a map), or
/// a map is too small for the input.
std::vector<AttentionMap> attention_maps(const std::vector<std::int64_t>& sizes,
                                         const std::vector<std::int64_t>& ratios,
                                         const std::vector<std::int64_t>& ranges, const Extent& input);

}  // namespace flowtrain
