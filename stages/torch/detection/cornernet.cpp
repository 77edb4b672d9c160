#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "sampling/core/error.h"
#include "sampling/images/fixed_point_resize.h"
#include "stages/torch/detection/detector.h"
#include "stages/torch/detection/rows.h"

namespace flowtrain {
namespace {

/// A picture at one test scale, and the way from the net's boxes back to the picture.
struct ScaledView {
  at::Tensor images;  ///< (1 or 2, 3, h, w) f32, normalised; the second one is mirrored
  double scale;
  int height, width;       ///< size of the scaled picture
  int top, left;           ///< place in the net's input
  int map_width;           ///< cells of the net's heat maps
  float ratio_y, ratio_x;  ///< cells per input pixel
};

/// The place of one axis of the scaled picture in the net's input: middle on middle.
struct PaddedAxis {
  explicit PaddedAxis(int size) : input(size | 127), begin(input / 2 - size / 2) {
    count = std::min(size, size / 2 + input / 2);
  }
  int input;  // length of the net's input
  int begin;  // start of the picture in it
  int count;  // pixels of the picture that fit: half the input is rounded down
};

/// Puts the scaled picture in the middle of the smallest zeros whose sides are multiples of 128 less one pixel: a deep
/// hourglass halves such sizes without remainder. A scaled side that is of this form loses its last line, as in the
/// reference. Throws UserError (data) if no pixel is left of the picture.
ScaledView scaled_view(const std::uint8_t* bgr, int height, int width, double scale, const CornerNetOptions& options) {
  const int scaled_height = static_cast<int>(height * scale), scaled_width = static_cast<int>(width * scale);
  if (scaled_height < 1 || scaled_width < 1) {
    throw UserError(ExitCode::data,
                    "test scale " + std::to_string(scale) + " leaves nothing of a picture of " +
                        std::to_string(height) + " x " + std::to_string(width) + " pixels",
                    "Use larger test_scales, or leave this picture out.");
  }
  const PaddedAxis y(scaled_height), x(scaled_width);
  at::Tensor scaled = at::empty({scaled_height, scaled_width, 3}, at::kByte);
  resize_fixed_point({bgr, height, width, 3, static_cast<std::size_t>(width) * 3}, scaled_height, scaled_width,
                     {0, 0, scaled_height, scaled_width}, scaled.data_ptr<std::uint8_t>(),
                     static_cast<std::size_t>(scaled_width) * 3);
  at::Tensor images = at::zeros({1, 3, y.input, x.input});
  images[0]
      .narrow(1, y.begin, y.count)
      .narrow(2, x.begin, x.count)
      .copy_(scaled.narrow(0, 0, y.count).narrow(1, 0, x.count).permute({2, 0, 1}));
  images.div_(255);
  if (options.test_flipped) images = at::cat({images, images.flip(3)});
  normalise(images, options);

  const int cell_height = (options.input_size[0] + 1) / options.output_size[0];
  const int cell_width = (options.input_size[1] + 1) / options.output_size[1];
  const int map_height = (y.input + 1) / cell_height, map_width = (x.input + 1) / cell_width;
  return {.images = images,
          .scale = scale,
          .height = scaled_height,
          .width = scaled_width,
          .top = y.begin,
          .left = x.begin,
          .map_width = map_width,
          .ratio_y = static_cast<float>(static_cast<double>(map_height) / y.input),
          .ratio_x = static_cast<float>(static_cast<double>(map_width) / x.input)};
}

/// Returns the net's boxes (1 or 2, n, 8), in cells, as boxes in pixels of the picture: (n or 2n, 8), on the CPU.
at::Tensor undo(const ScaledView& view, const at::Tensor& detections) {
  at::Tensor rows = detections.to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  if (rows.size(0) == 2) {
    at::Tensor mirrored = rows[1];
    const at::Tensor x0 = view.map_width - mirrored.select(1, 2), x1 = view.map_width - mirrored.select(1, 0);
    mirrored.select(1, 0).copy_(x0);
    mirrored.select(1, 2).copy_(x1);
  }
  rows = rows.reshape({-1, 8});
  for (const int column : {0, 2})
    rows.select(1, column).div_(view.ratio_x).sub_(view.left).clamp_(0, view.width).div_(view.scale);
  for (const int column : {1, 3})
    rows.select(1, column).div_(view.ratio_y).sub_(view.top).clamp_(0, view.height).div_(view.scale);
  return rows;
}

class CornerNetDetector final : public Detector {
 public:
  CornerNetDetector(const CornerNetOptions& options, Infer infer) : options_(options), infer_(std::move(infer)) {}

  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    ClassBoxes boxes = collect_boxes(bgr, height, width, options_, infer_);
    settle_boxes(boxes, options_);
    return detections_of(boxes);
  }

 private:
  CornerNetOptions options_;
  Infer infer_;
};

}  // namespace

ClassBoxes collect_boxes(const std::uint8_t* bgr, int height, int width, const CornerNetOptions& options,
                         const Infer& infer) {
  check_picture(bgr, height, width);
  std::vector<at::Tensor> rows;
  for (const double scale : options.test_scales) {
    const ScaledView view = scaled_view(bgr, height, width, scale, options);
    rows.push_back(undo(view, infer(view.images, /*with_attention=*/false).detections));
  }
  return by_class(at::cat(rows), options.categories);
}

void settle_boxes(ClassBoxes& boxes, const CornerNetOptions& options) {
  soft_nms(boxes, {.method = options.nms_algorithm,
                   .threshold = options.nms_threshold,
                   .merge = options.merge_bbox,
                   .weight_exp = options.weight_exp,
                   .mirror = options.mirror});
  keep_best(boxes, options.max_per_image);
}

std::unique_ptr<Detector> make_cornernet_detector(const CornerNetOptions& options, Infer infer) {
  return std::make_unique<CornerNetDetector>(options, std::move(infer));
}

}  // namespace flowtrain
