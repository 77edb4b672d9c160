#pragma once
// The detectors of the CornerNet family. H. Law, J. Deng, "CornerNet", ECCV 2018;
// H. Law et al., "CornerNet-Lite", BMVC 2020. The options are the `db` keys of the reference implementation,
// princeton-vl/CornerNet-Lite.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "stages/detection/detector.h"
#include "stages/detection/soft_nms.h"
#include "stages/torch/detection/infer.h"

namespace flowtrain {

/// What both kinds of detector need to know. Sizes are {height, width}.
struct DetectorOptions {
  std::array<int, 2> input_size{511, 511};   ///< of training pictures; CornerNet may see others
  std::array<int, 2> output_size{128, 128};  ///< cells of the heat maps for an input of that size
  int categories = 80;
  NmsMethod nms_algorithm = NmsMethod::exponential;
  float nms_threshold = 0.5F;  ///< for hard and linear NMS
  std::size_t max_per_image = 100;
  /// Of pixel values 0 … 1, blue first; those of COCO.
  std::array<float, 3> mean{0.40789654F, 0.44719302F, 0.47026115F}, stddev{0.28863828F, 0.27408164F, 0.27809835F};
};

struct CornerNetOptions : DetectorOptions {
  std::vector<double> test_scales{1};
  bool test_flipped = true;  ///< the mirrored picture is looked at too
  bool merge_bbox = false;   ///< see NmsOptions
  float weight_exp = 8;      ///< see NmsOptions
  bool mirror = false;       ///< see NmsOptions; with it results are the reference's
};

/// Looks at the whole picture at each test scale.
std::unique_ptr<Detector> make_cornernet_detector(const CornerNetOptions& options, Infer infer);

struct SaccadeOptions : DetectorOptions {
  std::vector<int> init_sizes{192, 255};  ///< long sides of the picture at the first glances, pixels
  /// Per attention map, for large objects first: input pixels a cell, and the window of its peaks.
  std::vector<int> att_ratios{16, 8, 4}, att_nms_ks{3, 3, 3};
  /// Per round: the factor on the scale for each attention map, and what counts as attention.
  std::vector<std::vector<double>> att_scales{{1, 2, 4}};
  std::vector<float> att_thresholds{0.3F};
  std::size_t att_max_crops = 30;  ///< of all rounds together, the first glances not counted
  bool ref_dets = true;            ///< looks again at what was found

  SaccadeOptions() {
    input_size = {255, 255};
    output_size = {64, 64};
  }
};

/// Glances at the small picture, then looks closer where the attention maps and the boxes found say so. Throws
/// UserError (usage) for lists whose lengths do not fit each other.
std::unique_ptr<Detector> make_saccade_detector(const SaccadeOptions& options, Infer infer);

}  // namespace flowtrain
