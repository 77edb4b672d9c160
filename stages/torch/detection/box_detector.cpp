#include "stages/torch/detection/box_detector.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "nets/net.h"
#include "nets/package/compiled_net.h"
#include "sampling/codecs/color.h"
#include "sampling/images/finish.h"
#include "sampling/images/resize.h"
#include "stages/detection/soft_nms.h"
#include "stages/loader/slab.h"
#include "stages/torch/batch.h"
#include "stages/torch/detection/rows.h"

namespace flowtrain {

namespace {

/// Makes the net's input of a picture, with the bits that the loader and the adapter of batches make of it on a CPU.
class InputMaker {
 public:
  explicit InputMaker(const Field& image)
      : shape_(shape_of(image)),
        finish_(shape_,
                normalising(per_channel(image.mean, shape_.channels, 0), per_channel(image.stddev, shape_.channels, 1)),
                /*planar=*/true) {}

  const PictureShape& shape() const { return shape_; }

  /// Returns (1, channels, height, width) f32.
  at::Tensor operator()(const std::uint8_t* bgr, int height, int width) {
    const int pixels = height * width;
    rgb_.resize(static_cast<std::size_t>(pixels) * 3);
    for (std::size_t i = 0; i < rgb_.size(); i += 3)
      rgb_[i] = bgr[i + 2], rgb_[i + 1] = bgr[i + 1], rgb_[i + 2] = bgr[i];
    // This works in place, since a grey pixel is never ahead of the colours that it is made of.
    if (shape_.channels != 3) convert_channels(rgb_.data(), 3, pixels, shape_.channels, rgb_.data());
    const Picture picture{rgb_.data(), height, width, shape_.channels,
                          static_cast<std::size_t>(width) * static_cast<std::size_t>(shape_.channels)};
    stretched_.resize(static_cast<std::size_t>(shape_.height) * static_cast<std::size_t>(shape_.width) *
                      static_cast<std::size_t>(shape_.channels));
    resize(picture, {0, 0, 1. * width, 1. * height}, Filter::antialias, /*mirrored=*/false, shape_.height, shape_.width,
           stretched_.data());
    at::Tensor input = at::empty({1, shape_.channels, shape_.height, shape_.width});
    finish_({stretched_.data(), shape_}, 0, 1, input.data_ptr<float>());
    return input;
  }

 private:
  PictureShape shape_;
  PictureFinisher finish_;
  std::vector<std::uint8_t> rgb_, stretched_;
};

const Field& image_of(const SlabLayout& layout) {
  const auto& fields = layout.fields();
  const auto found = std::ranges::find_if(fields, is_image);
  if (found == fields.end() || (found->shape[2] != 1 && found->shape[2] != 3))
    throw std::invalid_argument(
        "this detector needs batches with an `image` of bytes, of 1 or 3 channels: those of the sampler `boxes`, say");
  return *found;
}

class BoxDetector final : public Detector {
 public:
  BoxDetector(const Settings& settings, const DetectorInput& input, std::vector<std::string> outputs, ReadBoxes read)
      : net_(input.net),
        outputs_(std::move(outputs)),
        read_(std::move(read)),
        make_input_(image_of(input.layout)),
        classes_(static_cast<std::size_t>(input.classes)),
        least_score_(static_cast<float>(settings.real("least_score"))),
        most_(static_cast<std::size_t>(settings.integer("max_per_image"))),
        nms_{.method = nms_method(settings.text("nms_algorithm")),
             .threshold = static_cast<float>(settings.real("nms_threshold"))} {
    const auto* const compiled = nets::compiled_net(net_);
    batch_ =
        zero_batch(input.layout, compiled ? std::max<std::int64_t>(compiled->rows(), 1) : 1, at::Device(input.device));
  }

  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    check_picture(bgr, height, width);
    const c10::NoGradGuard no_gradients;
    at::Tensor image = batch_.at("image");
    image.copy_(make_input_(bgr, height, width).expand_as(image));
    const BatchBoxes all = read_(net_.outputs(batch_, outputs_));
    check_shapes(all);
    const auto on_cpu = [](const at::Tensor& of_batch, at::ScalarType type) {
      return of_batch.select(0, 0).to(at::kCPU, type).contiguous();
    };
    ClassBoxes boxes = in_picture(on_cpu(all.boxes, at::kFloat), on_cpu(all.scores, at::kFloat),
                                  on_cpu(all.labels, at::kLong), height, width);
    soft_nms(boxes, nms_);
    keep_best(boxes, most_);
    return detections_of(boxes);
  }

 private:
  void check_shapes(const BatchBoxes& all) const {
    const bool fits = all.scores.dim() == 2 && all.scores.size(0) == batch_.at("image").size(0) &&
                      all.labels.sizes() == all.scores.sizes() &&
                      all.boxes.sizes() == at::IntArrayRef({all.scores.size(0), all.scores.size(1), 4});
    if (!fits)
      throw UserError(ExitCode::usage,
                      c10::str("detect.name: the net gives boxes ", all.boxes.sizes(), ", scores ", all.scores.sizes(),
                               " and labels ", all.labels.sizes(), " for ", batch_.at("image").size(0), " pictures"),
                      "boxes (rows, N, 4), scores (rows, N) and labels (rows, N) are expected");
  }

  /// Returns the boxes by class, clipped to the picture, without those of no area, a low score or an unknown class.
  ClassBoxes in_picture(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels, int height,
                        int width) const {
    const float across = static_cast<float>(width) / static_cast<float>(make_input_.shape().width);
    const float down = static_cast<float>(height) / static_cast<float>(make_input_.shape().height);
    const auto box = boxes.accessor<float, 2>();
    const auto score = scores.accessor<float, 1>();
    const auto label = labels.accessor<std::int64_t, 1>();
    const auto x = [&](float value) { return std::clamp(value * across, 0.0F, static_cast<float>(width)); };
    const auto y = [&](float value) { return std::clamp(value * down, 0.0F, static_cast<float>(height)); };
    ClassBoxes kept(classes_);
    for (std::int64_t i = 0; i < score.size(0); ++i) {
      if (!(score[i] > 0 && score[i] >= least_score_) || label[i] < 0 ||
          label[i] >= static_cast<std::int64_t>(classes_))
        continue;
      const ScoredBox moved{x(box[i][0]), y(box[i][1]), x(box[i][2]), y(box[i][3]), score[i], 0, 0};
      if (moved.x1 > moved.x0 && moved.y1 > moved.y0) kept[static_cast<std::size_t>(label[i])].push_back(moved);
    }
    return kept;
  }

  nets::Net& net_;
  const std::vector<std::string> outputs_;
  const ReadBoxes read_;
  InputMaker make_input_;
  nets::NamedTensors batch_;  // all zero but for the image
  const std::size_t classes_;
  const float least_score_;
  const std::size_t most_;
  const NmsOptions nms_;
};

}  // namespace

std::unique_ptr<Detector> make_box_detector(const Settings& settings, const DetectorInput& input,
                                            std::vector<std::string> outputs, ReadBoxes read) {
  return std::make_unique<BoxDetector>(settings, input, std::move(outputs), std::move(read));
}

}  // namespace flowtrain
