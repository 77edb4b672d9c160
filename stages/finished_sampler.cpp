#include "stages/finished_sampler.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sampling/images/finish.h"
#include "stages/slab.h"

namespace flowtrain {
namespace {

/// Does nothing for what is finished already.
std::optional<PictureFinisher> finisher_of(const Field& image) {
  if (is_finished_image(image)) return {};
  const PictureShape shape = shape_of(image);
  const PixelRule rule =
      normalising(per_channel(image.mean, shape.channels, 0), per_channel(image.stddev, shape.channels, 1));
  return PictureFinisher(shape, rule, /*planar=*/true);
}

class FinishedSampler final : public Sampler {
 public:
  FinishedSampler(std::unique_ptr<Sampler> sampler, std::size_t image)
      : sampler_(std::move(sampler)), fields_(sampler_->fields()), image_(image), finish_(finisher_of(fields_[image])) {
    Field& field = fields_[image];
    image_bytes_ = field.row_bytes();
    channels_ = static_cast<std::size_t>(field.shape[2]);
    field = {field.name, DType::f32, {field.shape[2], field.shape[0], field.shape[1]}};
  }

  std::vector<Field> fields() const override { return fields_; }

  void sample(const Record& record, Stream& random, Row row) const override {
    thread_local std::vector<std::byte> bytes;
    thread_local std::vector<std::byte*> own;
    bytes.resize(image_bytes_);
    own.assign(row.begin(), row.end());
    own[image_] = bytes.data();
    sampler_->sample(record, random, own);
    finish(bytes.data(), row[image_]);
  }

  bool takes_blocks() const override { return sampler_->takes_blocks(); }

  void sample_rows(std::span<const Record* const> records, Row first) const override {
    thread_local std::vector<std::byte> bytes;
    thread_local std::vector<std::byte*> own;
    bytes.resize(image_bytes_ * records.size());
    own.assign(first.begin(), first.end());
    own[image_] = bytes.data();
    sampler_->sample_rows(records, own);
    for (std::size_t i = 0; i < records.size(); ++i)
      finish(bytes.data() + i * image_bytes_, first[image_] + i * fields_[image_].row_bytes());
  }

 private:
  void finish(const std::byte* from, std::byte* to) const {
    auto* out = reinterpret_cast<float*>(to);
    if (finish_) return (*finish_)(reinterpret_cast<const std::uint8_t*>(from), 0, 1, nullptr, out);
    const auto* values = reinterpret_cast<const float*>(from);
    const std::size_t count = image_bytes_ / sizeof(float);
    for (std::size_t channel = 0; channel < channels_; ++channel)
      for (std::size_t i = channel; i < count; i += channels_) *out++ = values[i];
  }

  std::unique_ptr<Sampler> sampler_;
  std::vector<Field> fields_;
  std::size_t image_, image_bytes_ = 0, channels_ = 1;
  std::optional<PictureFinisher> finish_;
};

}  // namespace

bool is_finished_image(const Field& field) {
  return field.name == "image" && field.dtype == DType::f32 && field.shape.size() == 3;
}

std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler, bool finish_bytes) {
  const auto fields = sampler->fields();
  const auto image = std::ranges::find_if(
      fields, [&](const Field& field) { return is_finished_image(field) || (finish_bytes && is_image(field)); });
  if (image == fields.end()) return sampler;
  return std::make_unique<FinishedSampler>(std::move(sampler), static_cast<std::size_t>(image - fields.begin()));
}

}  // namespace flowtrain
