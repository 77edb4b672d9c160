#include "stages/torch/batch.h"

#include <torch/types.h>

#include <algorithm>
#include <cstdlib>

#include "nets/parallel.h"
#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "stages/loader/finished_sampler.h"

namespace flowtrain {

namespace {

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::u8: return at::kByte;
    case DType::i32: return at::kInt;
    case DType::i64: return at::kLong;
    case DType::f32: return at::kFloat;
  }
  throw InternalError("a field of an unknown type");
}

}  // namespace

BatchAdapter::BatchAdapter(const SlabLayout& layout, at::Device where, bool channels_last,
                           std::optional<BatchMixer> mixer, std::string source)
    : layout_(layout),
      where_(where),
      mixer_(std::move(mixer)),
      // The device's kernels write (B, H, W, C) memory, which is the layout of channels_last.
      planar_(!channels_last && !where.is_cuda()),
      source_(std::move(source)) {
  const bool grouped = std::ranges::any_of(layout.fields(), [](const Field& field) { return field.group > 0; });
  for (std::size_t i = 0; i < layout.fields().size(); ++i) {
    const Field& field = layout.fields()[i];
    if (!is_picture(field)) continue;
    const PictureShape shape = shape_of(field);
    std::vector<float> mean = per_channel(field.mean, shape.channels, 0);
    std::vector<float> stddev = per_channel(field.stddev, shape.channels, 1);
    const PixelRule rule = normalising(mean, stddev);
    pictures_.push_back({i, std::move(mean), std::move(stddev), rule, PictureFinisher(shape, rule, planar_),
                         pixels_of(shape, grouped ? 0 : layout.rows())});
  }
}

at::Tensor BatchAdapter::pixels_of(PictureShape shape, std::int64_t rows) const {
  return torch::empty({rows, shape.channels, shape.height, shape.width},
                      torch::TensorOptions(torch::kFloat).device(where_),
                      planar_ ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast);
}

at::Tensor BatchAdapter::view(Slab& slab, std::size_t field) const {
  const Field what = slab.field(field);
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(slab.rows_of(field))};
  shape.insert(shape.end(), what.shape.begin(), what.shape.end());
  return torch::from_blob(slab.device() + slab.offset(field), shape,
                          torch::TensorOptions(scalar_type(what.dtype)).device(where_));
}

at::Tensor BatchAdapter::finished(Slab& slab, Picture& picture, const BatchMix* mix) {
  const std::int64_t rows = slab.rows_of(picture.field);
  if (picture.pixels.size(0) < rows) picture.pixels = pixels_of(shape_of(layout_.fields()[picture.field]), rows);
  auto pixels = picture.pixels.narrow(0, 0, rows);
  if (layout_.fields()[picture.field].sized) {  // they need the beginning of the memory
    const PictureShape shape = shape_of(layout_.fields(), picture.field, slab.extents());
    const auto memory = [&](at::IntArrayRef sizes) {
      return torch::from_blob(pixels.data_ptr(), sizes, pixels.options());
    };
    pixels = pixels.stride(1) == 1 ? memory({rows, shape.height, shape.width, shape.channels}).permute({0, 3, 1, 2})
                                   : memory({rows, shape.channels, shape.height, shape.width});
  }
  if (rows == 0) return pixels;
  PixelMix drawn = mix ? mix->pixels() : PixelMix{};
  const auto finish = slab.owner().copies() ? &BatchAdapter::finish_there : &BatchAdapter::finish_here;
  (this->*finish)(slab, picture, mix ? &drawn : nullptr, pixels.data_ptr<float>());
  return pixels;
}

void BatchAdapter::finish_here(Slab& slab, Picture& picture, PixelMix* mix, float* to) {
  constexpr std::int64_t values_at_once = 32768;  // torch's limit; fewer values are not worth another thread
  const auto* from = reinterpret_cast<const std::uint8_t*>(slab.device() + slab.offset(picture.field));
  const PictureShape shape = shape_of(layout_.fields(), picture.field, slab.extents());
  const auto row_values = static_cast<std::int64_t>(slab.row_bytes(picture.field));
  const auto each_row = [&](auto body) {
    nets::parallel_for(0, static_cast<std::int64_t>(slab.rows_of(picture.field)),
                       (values_at_once + row_values - 1) / std::max<std::int64_t>(row_values, 1), body);
  };
  if (mix && mix->tints) {
    picture.grey.resize(slab.rows_of(picture.field));
    each_row(
        [&](std::int64_t first, std::int64_t last) { measure_grey(from, first, last, shape, picture.grey.data()); });
    mix->grey = picture.grey.data();
  }
  each_row([&](std::int64_t first, std::int64_t last) { picture.finish({from, shape, mix}, first, last, to); });
}

void BatchAdapter::finish_there(Slab& slab, Picture& picture, PixelMix* mix, float* to) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(slab.device() + slab.offset(picture.field));
  const PictureShape shape = shape_of(layout_.fields(), picture.field, slab.extents());
  const std::size_t rows = slab.rows_of(picture.field);
  if (mix) return slab.owner().mix(from, to, rows, shape, picture.rule, *mix);
  const std::size_t pixels = rows * static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  slab.owner().normalise(from, to, pixels, shape.channels, picture.mean.data(), picture.stddev.data());
}

void BatchAdapter::mix_labels(const BatchMix& mix, nets::NamedTensors& batch) {
  if (mix.kind == BatchMix::Kind::none) return;
  const auto rows = static_cast<std::int64_t>(mix.rows.size());
  // The partners follow from the number of rows. Copying them to a device each time would wait for it.
  if (!partners_.defined() || partners_.size(0) != rows) {
    const auto partners = torch::empty({rows}, torch::kLong);
    for (std::int64_t* to = partners.data_ptr<std::int64_t>(); auto& drawn : mix.rows) *to++ = drawn.partner;
    partners_ = partners.to(where_);
  }
  const auto own = batch.at("label"), others = own.index_select(0, partners_);
  const bool heavier = mix.own >= 0.5;
  batch.set("label", heavier ? own : others);
  batch.set("second_label", heavier ? others : own);
  batch.set("label_weight", torch::tensor(heavier ? mix.own : 1 - mix.own, torch::kDouble));
}

nets::NamedTensors BatchAdapter::operator()(Slab& slab) {
  if (slab.owner().copies()) slab.owner().wait_copy(slab.ticket().slot);
  const BatchMix* const mix = mixer_ ? &(*mixer_)(slab) : nullptr;
  nets::NamedTensors batch;
  auto picture = pictures_.begin();
  for (std::size_t i = 0; i < layout_.fields().size(); ++i) {
    const bool is_next = picture != pictures_.end() && picture->field == i;
    const Field& field = layout_.fields()[i];
    if (is_next)
      batch.set(field.name, finished(slab, *picture++, is_image(field) ? mix : nullptr));
    else if (is_finished_image(field))
      batch.set(field.name, view(slab, i).permute({0, 3, 1, 2}));
    else
      batch.set(field.name, view(slab, i));
  }
  if (mix) mix_labels(*mix, batch);
  if (!source_.empty())
    for (const Field& field : layout_.fields()) batch.set(source_ + "." + field.name, batch.at(field.name));
  return batch;
}

std::vector<nets::BatchField> batch_fields(const SlabLayout& layout, const std::string& source) {
  std::vector<nets::BatchField> fields;
  for (const Field& field : layout.fields()) {
    const bool finished = is_picture(field) || is_finished_image(field);
    std::vector<std::int64_t> shape = field.shape;
    for (std::size_t axis = 0; axis < field.free_axes; ++axis) shape[axis] *= -1;
    if (finished) shape = {shape[2], shape[0], shape[1]};
    shape.insert(shape.begin(), layout.rows());
    fields.push_back({field.name, c10::getDtypeNames(finished ? at::kFloat : scalar_type(field.dtype)).first, shape});
  }
  for (std::size_t i = 0, own = fields.size(); !source.empty() && i < own; ++i)
    fields.push_back({source + "." + fields[i].name, fields[i].dtype, fields[i].shape});
  return fields;
}

nets::NamedTensors zero_batch(const SlabLayout& layout, std::int64_t rows, at::Device where) {
  nets::NamedTensors batch;
  for (auto& field : batch_fields(layout)) {
    for (std::int64_t& size : field.shape) size = std::abs(size);
    field.shape.front() = rows;
    batch.add(field.name,
              torch::zeros(field.shape, at::TensorOptions(where).dtype(c10::getStringToDtypeMap().at(field.dtype))));
  }
  return batch;
}

std::unique_ptr<BatchAdapter> make_train_batches(const LearnerSpec& spec, const SlabLayout& layout) {
  std::optional<BatchMixer> mixer;
  if (spec.data.mixing.any())
    mixer.emplace(spec.data.mixing, layout, spec.process.seed, static_cast<std::uint32_t>(*spec.tables.train.accum));
  return std::make_unique<BatchAdapter>(layout, at::Device(spec.process.device),
                                        spec.tables.net.boolean("channels_last"), std::move(mixer));
}

}  // namespace flowtrain
