#include "stages/torch/detection/rows.h"

#include <ATen/ATen.h>

#include <string>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

ScoredBox box_of(const at::TensorAccessor<float, 1>& row) {
  return {row[0], row[1], row[2], row[3], row[4], row[5], row[6]};
}

}  // namespace

std::vector<ScoredBox> boxes_of(const at::Tensor& rows) {
  const auto all = rows.accessor<float, 2>();
  std::vector<ScoredBox> boxes;
  for (std::int64_t i = 0; i < all.size(0); ++i) boxes.push_back(box_of(all[i]));
  return boxes;
}

ClassBoxes by_class(const at::Tensor& rows, int categories) {
  const auto all = rows.accessor<float, 2>();
  ClassBoxes boxes(static_cast<std::size_t>(categories));
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    const ScoredBox box = box_of(all[i]);
    const float category = all[i][7];
    if (box.score > -1 && category >= 0 && category < static_cast<float>(categories))
      boxes[static_cast<std::size_t>(category)].push_back(box);
  }
  return boxes;
}

std::vector<Detection> detections_of(const ClassBoxes& boxes) {
  std::vector<Detection> detections;
  for (std::size_t category = 0; category < boxes.size(); ++category)
    for (const ScoredBox& box : boxes[category])
      detections.push_back({box.x0, box.y0, box.x1, box.y1, box.score, static_cast<int>(category)});
  return detections;
}

void normalise(at::Tensor& images, const DetectorOptions& options) {
  const auto per_channel = [](const std::array<float, 3>& values) { return at::tensor(values).view({1, 3, 1, 1}); };
  images.sub_(per_channel(options.mean)).div_(per_channel(options.stddev));
}

void check_picture(const std::uint8_t* pixels, int height, int width) {
  if (pixels && height > 0 && width > 0) return;
  throw UserError(ExitCode::data,
                  "picture of " + std::to_string(height) + " x " + std::to_string(width) + " pixels is empty",
                  "Give the detector a decoded picture.");
}

}  // namespace flowtrain
