#include "stages/torch/batch.h"

#include <torch/types.h>

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

bool is_picture(const Field& field) { return field.dtype == DType::u8 && field.shape.size() == 3; }
// Normalised by its sampler.
bool is_finished_picture(const Field& field) {
  return field.name == "image" && field.dtype == DType::f32 && field.shape.size() == 3;
}

}  // namespace

BatchAdapter::BatchAdapter(const SlabLayout& layout, at::Device where, bool channels_last)
    : layout_(layout), where_(where) {
  for (std::size_t i = 0; i < layout.fields().size(); ++i) {
    const Field& field = layout.fields()[i];
    if (!is_picture(field)) continue;
    const std::int64_t height = field.shape[0], width = field.shape[1], channels = field.shape[2];
    Picture picture{i, {}, {}, {}, {}, {}};
    for (std::int64_t c = 0; c < channels; ++c) {
      picture.mean.push_back(field.mean.empty() ? 0.f : static_cast<float>(field.mean[c]));
      picture.stddev.push_back(field.stddev.empty() ? 1.f : static_cast<float>(field.stddev[c]));
    }
    const auto mean = torch::tensor(picture.mean), stddev = torch::tensor(picture.stddev);
    picture.scale = (1 / (255 * stddev)).view({1, channels, 1, 1}).to(where);
    picture.shift = (-mean / stddev).view({1, channels, 1, 1}).to(where);
    // The device's kernel writes (B, H, W, C) memory, which is what channels_last means.
    picture.pixels = torch::empty({layout.rows(), channels, height, width}, torch::TensorOptions(torch::kFloat).device(where),
                                  channels_last || where.is_cuda() ? at::MemoryFormat::ChannelsLast
                                                                   : at::MemoryFormat::Contiguous);
    pictures_.push_back(std::move(picture));
  }
}

at::Tensor BatchAdapter::view(Slab& slab, std::size_t field) const {
  const Field& what = layout_.fields()[field];
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(slab.rows().size())};
  shape.insert(shape.end(), what.shape.begin(), what.shape.end());
  return torch::from_blob(slab.device() + layout_.offset(field), shape,
                          torch::TensorOptions(scalar_type(what.dtype)).device(where_));
}

at::Tensor BatchAdapter::normalised(Slab& slab, Picture& picture) {
  const auto rows = static_cast<std::int64_t>(slab.rows().size());
  auto pixels = picture.pixels.narrow(0, 0, rows);
  if (slab.owner().copies()) {
    slab.owner().normalise(reinterpret_cast<const std::uint8_t*>(slab.device() + layout_.offset(picture.field)),
                            pixels.data_ptr<float>(), static_cast<std::size_t>(rows * pixels.size(2) * pixels.size(3)),
                            static_cast<int>(pixels.size(1)), picture.mean.data(), picture.stddev.data());
    return pixels;
  }
  pixels.copy_(view(slab, picture.field).permute({0, 3, 1, 2}));
  return pixels.mul_(picture.scale).add_(picture.shift);
}

nets::NamedTensors BatchAdapter::operator()(Slab& slab) {
  if (slab.owner().copies()) slab.owner().wait_copy(slab.ticket().slot);
  nets::NamedTensors batch;
  auto picture = pictures_.begin();
  for (std::size_t i = 0; i < layout_.fields().size(); ++i) {
    const bool is_next = picture != pictures_.end() && picture->field == i;
    const Field& field = layout_.fields()[i];
    if (is_next) batch.set(field.name, normalised(slab, *picture++));
    else if (is_finished_picture(field)) batch.set(field.name, view(slab, i).permute({0, 3, 1, 2}));
    else batch.set(field.name, view(slab, i));
  }
  return batch;
}

}  // namespace flowtrain
