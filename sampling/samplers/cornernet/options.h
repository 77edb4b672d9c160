#pragma once
// The options of the CornerNet samplers: the keys of their table, and their values.

#include <cstdint>
#include <vector>

namespace flowtrain {

struct Key;
class Settings;

/// A height and width in pixels or cells.
struct Extent {
  int height, width;
};

/// A map of CornerNet-Saccade's attention: square, with sides of `size` cells of `ratio` input pixels, for objects
/// whose long side is from `least` to `most` input pixels, both included.
struct AttentionMap {
  int size, ratio;
  double least, most;
};

/// The values of the keys of the same names.
struct CornerOptions {
  bool saccade = false;  ///< the sampler is cornernet_saccade, not cornernet
  bool mirror = false;   ///< quirks = "mirror"
  bool augment = true;   ///< true in training; mirrored: always
  std::int64_t classes = 0;
  Extent input_size{}, output_size{};
  std::vector<double> scales;  ///< rand_scales, or the range
  bool rand_crop = true, rand_color = true, lighting = true, rand_center = true, gaussian_window = true;
  int border = 128;
  double gaussian_iou = 0.3;
  int gaussian_radius = -1;
  int min_scale = 16;
  int max_objects = 128;
  std::vector<AttentionMap> attention;  ///< used by cornernet_saccade only
};

/// Returns the keys of `cornernet`, or of `cornernet_saccade`; the defaults are those of the published configurations.
std::vector<Key> corner_keys(bool saccade);

/// Returns the values, checked together. Throws UserError(usage).
CornerOptions corner_options(const Settings& settings, bool saccade, bool training, std::int64_t classes);

/// Returns least, least + step, … below `most`, like numpy's arange: rounding decides whether `most` is among them.
std::vector<double> scale_range(double least, double most, double step);

/// Throws std::invalid_argument if the attention maps' lists differ in length (`ranges` holds two numbers per map), or
/// a map is too small for the input.
std::vector<AttentionMap> attention_maps(const std::vector<std::int64_t>& sizes,
                                         const std::vector<std::int64_t>& ratios,
                                         const std::vector<std::int64_t>& ranges, const Extent& input);

}  // namespace flowtrain
