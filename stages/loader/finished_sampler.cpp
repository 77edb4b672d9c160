#include "stages/loader/finished_sampler.h"

#include <optional>
#include <utility>
#include <vector>

#include "sampling/field_text.h"
#include "sampling/images/finish.h"
#include "stages/loader/slab.h"

namespace flowtrain {
namespace {

/// A field that becomes (channels, height, width) f32.
struct FinishedField {
  std::size_t field, channels;
  std::optional<PictureFinisher> finish;  ///< null where the values are finished

  FinishedField(std::size_t index, const Field& from)
      : field(index), channels(static_cast<std::size_t>(from.shape[2])) {
    if (is_finished_image(from)) return;
    const PictureShape shape = shape_of(from);
    const PixelRule rule =
        normalising(per_channel(from.mean, shape.channels, 0), per_channel(from.stddev, shape.channels, 1));
    finish.emplace(shape, rule, /*planar=*/true);
  }

  void operator()(const std::byte* from, const PictureShape& shape, std::byte* to) const {
    auto* out = reinterpret_cast<float*>(to);
    if (finish) return (*finish)({reinterpret_cast<const std::uint8_t*>(from), shape}, 0, 1, out);
    const auto* values = reinterpret_cast<const float*>(from);
    const std::size_t count = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width) * channels;
    for (std::size_t channel = 0; channel < channels; ++channel)
      for (std::size_t i = channel; i < count; i += channels) *out++ = values[i];
  }
};

class FinishedSampler final : public Sampler {
 public:
  FinishedSampler(std::unique_ptr<Sampler> sampler, std::vector<FinishedField> finished)
      : sampler_(std::move(sampler)), own_(sampler_->fields()), fields_(own_), finished_(std::move(finished)) {
    for (const FinishedField& each : finished_) {
      const Field& own = own_[each.field];
      Field& field = fields_[each.field] = {.name = own.name,
                                            .dtype = DType::f32,
                                            .shape = {own.shape[2], own.shape[0], own.shape[1]},
                                            .group = own.group};
      if (own.sized) field.shape = own.shape, field.free_axes = own.free_axes, field.sized = true;
    }
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    sampler_->measure(record, extents);
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    finish(1, row, [&](Row own) { sampler_->sample(record, random, own); });
  }

  bool takes_blocks() const override { return sampler_->takes_blocks(); }

  void sample_rows(std::span<const Record* const> records, Row first) const override {
    finish(records.size(), first, [&](Row own) { sampler_->sample_rows(records, own); });
  }

 private:
  /// Lets `make` write as many rows, with its pictures in memory beside the others.
  template <typename Make>
  void finish(std::size_t rows, Row first, const Make& make) const {
    thread_local std::vector<std::vector<std::byte>> pictures;
    thread_local std::vector<std::byte*> own;
    if (pictures.size() < finished_.size()) pictures.resize(finished_.size());
    own.assign(first.fields().begin(), first.fields().end());
    for (std::size_t i = 0; i < finished_.size(); ++i) {
      const std::size_t field = finished_[i].field;
      if (!first[field]) continue;  // the row is of another group
      pictures[i].resize(own_[field].row_bytes(extents_of(own_, field, first.extents())) * rows);
      own[field] = pictures[i].data();
    }
    make(Row(own, first.extents()));
    for (std::size_t i = 0; i < finished_.size(); ++i) {
      const std::size_t field = finished_[i].field, bytes = pictures[i].size() / rows;
      if (!first[field]) continue;
      const PictureShape shape = shape_of(own_, field, first.extents());
      const std::size_t values = bytes / size_of(own_[field].dtype);
      for (std::size_t row = 0; row < rows; ++row)
        finished_[i](pictures[i].data() + row * bytes, shape, first[field] + row * values * sizeof(float));
    }
  }

  std::unique_ptr<Sampler> sampler_;
  std::vector<Field> own_;     ///< fields of sampler_
  std::vector<Field> fields_;  ///< fields with finished images
  std::vector<FinishedField> finished_;
};

}  // namespace

bool is_picture(const Field& field) {
  return field.dtype == DType::u8 && field.shape.size() == 3 && (field.free_axes == 0 || field.sized);
}

PictureShape shape_of(std::span<const Field> fields, std::size_t field, std::span<const std::int64_t> extents) {
  PictureShape shape = shape_of(fields[field]);
  if (fields[field].free_axes == 0) return shape;
  const auto own = extents_of(fields, field, extents);
  shape.height = static_cast<int>(own[0]), shape.width = static_cast<int>(own[1]);
  return shape;
}

std::vector<std::int64_t> seen_shape(const Field& field) {
  if (!field.sized || field.dtype != DType::f32) return field.shape;
  return {field.shape[2], field.shape[0], field.shape[1]};
}

bool is_finished_image(const Field& field) {
  return is_image_name(field.name) && field.dtype == DType::f32 && field.shape.size() == 3;
}

std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler, bool finish_bytes) {
  const auto fields = sampler->fields();
  std::vector<FinishedField> finished;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (is_finished_image(fields[i]) || (finish_bytes && is_picture(fields[i]))) finished.emplace_back(i, fields[i]);
  if (finished.empty()) return sampler;
  return std::make_unique<FinishedSampler>(std::move(sampler), std::move(finished));
}

}  // namespace flowtrain
