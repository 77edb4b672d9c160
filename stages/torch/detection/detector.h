#pragma once
// The detectors of the CornerNet family. H. Law, J. Deng, "CornerNet", ECCV 2018;
// H. Law et al., "CornerNet-Lite", BMVC 2020. The options are the `db` keys of the reference implementation,
// princeton-vl/CornerNet-Lite.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "nets/cornernet/decode.h"
#include "nets/tensors.h"
#include "stages/detection/detector.h"
#include "stages/detection/locations.h"
#include "stages/detection/soft_nms.h"

namespace flowtrain {

/// The answer for B pictures.
struct Inference {
  at::Tensor detections;              ///< (B, n, 8) f32 of nets::decode
  std::vector<at::Tensor> attention;  ///< Saccade: (B, 1, z, z) f32 after the sigmoid, for large objects first
};

/// Runs a net. `images` (B, 3, H, W) f32 on the CPU, blue first, normalised; the answer may be on any device. Attention
/// may be left out unless it is requested.
using Infer = std::function<Inference(const at::Tensor& images, bool with_attention)>;

/// Returns maps as nets::CornerNet::detect: `tl_heat`, … `br_off`, and with attention `att0` to `att2`.
using Heads = std::function<nets::NamedTensors(const at::Tensor& images, bool with_attention)>;

/// Runs `heads` on at most 32 pictures at once and without gradients, and decodes.
Infer make_infer(Heads heads, const nets::DecodeOptions& options);

/// The options that both kinds of detector share. Sizes are {height, width}.
struct DetectorOptions {
  std::array<int, 2> input_size{511, 511};   ///< size of training pictures; CornerNet may get others
  std::array<int, 2> output_size{128, 128};  ///< cells of the heat maps for an input of that size
  int categories = 80;
  NmsMethod nms_algorithm = NmsMethod::exponential;
  float nms_threshold = 0.5F;  ///< applies to hard and linear NMS
  std::size_t max_per_image = 100;
  /// Statistics of pixel values 0 … 1, blue first, of COCO.
  std::array<float, 3> mean{0.40789654F, 0.44719302F, 0.47026115F}, stddev{0.28863828F, 0.27408164F, 0.27809835F};
};

struct CornerNetOptions : DetectorOptions {
  std::vector<double> test_scales{1};
  bool test_flipped = true;  ///< the mirrored picture is examined, too
  bool merge_bbox = false;   ///< see NmsOptions
  float weight_exp = 8;      ///< see NmsOptions
  bool mirror = false;       ///< see NmsOptions; true gives the reference's results
};

/// Examines the whole picture at each test scale.
std::unique_ptr<Detector> make_cornernet_detector(const CornerNetOptions& options, Infer infer);

/// Returns the boxes of all test scales, in pixels of the picture.
ClassBoxes collect_boxes(const std::uint8_t* bgr, int height, int width, const CornerNetOptions& options,
                         const Infer& infer);

/// Suppresses duplicates and keeps the best boxes.
void settle_boxes(ClassBoxes& boxes, const CornerNetOptions& options);

struct SaccadeOptions : DetectorOptions {
  std::vector<int> init_sizes{192, 255};  ///< long sides of the picture in the overviews, pixels
  /// Values per attention map, large objects first: input pixels a cell, and the window of its peaks.
  std::vector<int> att_ratios{16, 8, 4}, att_nms_ks{3, 3, 3};
  /// Values per round: the factor on the scale for each attention map, and the threshold of attention.
  std::vector<std::vector<double>> att_scales{{1, 2, 4}};
  std::vector<float> att_thresholds{0.3F};
  std::size_t att_max_crops = 30;  ///< limit for all rounds together, without overviews
  bool ref_dets = true;            ///< found boxes are examined again

  SaccadeOptions() {
    input_size = {255, 255};
    output_size = {64, 64};
  }
};

/// Examines the small picture first and then crops at attention peaks and found boxes. Throws UserError (usage) for
/// lists whose lengths do not fit each other.
std::unique_ptr<Detector> make_saccade_detector(const SaccadeOptions& options, Infer infer);

struct SaccadeFindings {
  at::Tensor rows;                             ///< (n, 8) f32: all boxes found, in pixels of the picture
  std::vector<std::vector<Location>> visited;  ///< visited places by round, overviews first
};

/// Returns the whole picture at each of init_sizes.
std::vector<Location> overview_locations(int height, int width, const std::vector<int>& init_sizes);

/// Throws UserError for an empty picture (data) or lists of options that do not fit each other (usage), InternalError
/// for an answer with the wrong number of pictures.
SaccadeFindings search(const std::uint8_t* bgr, int height, int width, const SaccadeOptions& options,
                       const Infer& infer);

/// Suppresses duplicates and keeps the best boxes.
ClassBoxes settle_findings(const SaccadeFindings& findings, const SaccadeOptions& options);

}  // namespace flowtrain
