#include "stages/torch/detection/cornernet.h"

#include <ATen/ATen.h>

#include "stages/torch/detection/rows.h"
#include "stages/torch/detection/scaled_view.h"

namespace flowtrain {
namespace {

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
