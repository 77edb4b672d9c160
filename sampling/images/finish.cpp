#include "sampling/images/finish.h"

#include <algorithm>
#include <cstring>

#include "sampling/core/random.h"
#include "sampling/images/finish_kernel.h"

namespace flowtrain {
namespace {

bool on_line(const PixelBox& box, int y) { return y >= box.top && y < box.bottom; }

/// Writes values [begin, end) of a row's noise.
void write_noise(std::uint64_t key, std::uint64_t begin, std::uint64_t end, std::uint8_t* to) {
  std::uint64_t bits = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i == begin || i % 8 == 0) bits = mix64(key + noise_step * (i / 8 + 1)) >> (i % 8 * 8);
    *to++ = static_cast<std::uint8_t>(bits);
    bits >>= 8;
  }
}

}  // namespace

std::vector<float> per_channel(const std::vector<double>& values, int channels, float missing) {
  std::vector<float> floats(static_cast<std::size_t>(channels), missing);
  for (std::size_t c = 0; !values.empty() && c < floats.size(); ++c) floats[c] = static_cast<float>(values[c]);
  return floats;
}

PixelRule normalising(const std::vector<float>& mean, const std::vector<float>& stddev) {
  PixelRule rule;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    rule.scale.push_back(1 / (255 * stddev[c]));
    rule.shift.push_back(-mean[c] / stddev[c]);
    rule.fill.push_back(0);
  }
  return rule;
}

void measure_grey(const std::uint8_t* from, std::int64_t first, std::int64_t last, const PictureShape& shape,
                  float* to) {
  const auto pixels = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  for (std::int64_t row = first; row < last; ++row)
    to[row] = finishing::mean_grey(from + 3 * pixels * static_cast<std::size_t>(row), pixels);
}

PictureFinisher::PictureFinisher(PictureShape shape, const PixelRule& rule, bool planar)
    : shape_(shape),
      parts_(planar ? static_cast<std::size_t>(shape.channels) : 1),
      unit_(planar ? 1 : static_cast<std::size_t>(shape.channels)) {
  for (std::size_t part = 0; part < parts_; ++part)
    for (int x = 0; x < shape.width; ++x)
      for (std::size_t c = part; c < part + unit_; ++c) {
        scale_.push_back(rule.scale[c]);
        shift_.push_back(rule.shift[c]);
        fill_.push_back(rule.fill[c]);
      }
}

// Writes columns [begin, end) of one line of an image, tinted and erased but not mixed.
void PictureFinisher::write(const Rows& rows, std::int64_t row, int y, int begin, int end, Line to) const {
  thread_local std::vector<std::uint8_t> tinted, noisy, planes;
  const PixelMix* const mix = rows.mix;
  const auto width = static_cast<std::size_t>(rows.shape.width), channels = static_cast<std::size_t>(shape_.channels);
  const auto pixels = static_cast<std::size_t>(end - begin);
  const std::size_t start = (static_cast<std::size_t>(y) * width + static_cast<std::size_t>(begin)) * channels;
  const std::uint8_t* bytes =
      rows.from + static_cast<std::size_t>(row) * static_cast<std::size_t>(rows.shape.height) * width * channels +
      start;

  if (mix && mix->tints) {
    tinted.resize(pixels * channels);
    finishing::tint(bytes, pixels, mix->rows[row].tint, mix->grey[row], tinted.data());
    bytes = tinted.data();
  }
  const PixelBox erased = mix ? mix->rows[row].erased : PixelBox{};
  const int left = std::max(begin, erased.left), right = std::min(end, erased.right);
  const bool erases = on_line(erased, y) && left < right;
  if (erases && mix->noise) {
    const std::size_t skipped = static_cast<std::size_t>(left - begin) * channels;
    noisy.assign(bytes, bytes + pixels * channels);
    write_noise(mix->rows[row].noise, start + skipped,
                start + skipped + static_cast<std::size_t>(right - left) * channels, noisy.data() + skipped);
    bytes = noisy.data();
  }
  if (parts_ > 1) {
    planes.resize(pixels * channels);
    finishing::split(bytes, pixels, shape_.channels, planes.data());
    bytes = planes.data();
  }
  for (std::size_t part = 0; part < parts_; ++part) {
    const std::size_t at = static_cast<std::size_t>(begin) * unit_, values = pixels * unit_,
                      table = part * static_cast<std::size_t>(shape_.width);
    float* const line = to.at + part * to.apart;
    finishing::normalise(bytes + part * values, &scale_[table + at], &shift_[table + at], values, line + at);
    if (!erases || mix->noise) continue;
    const std::size_t filled = static_cast<std::size_t>(left) * unit_;
    std::memcpy(line + filled, &fill_[table + filled], static_cast<std::size_t>(right - left) * unit_ * sizeof(float));
  }
}

void PictureFinisher::mix_in(const Rows& rows, std::int64_t partner, int y, Line to) const {
  const PixelMix& mix = *rows.mix;
  if (mix.own == 1) {
    if (on_line(mix.cut, y)) write(rows, partner, y, mix.cut.left, mix.cut.right, to);
    return;
  }
  thread_local std::vector<float> scratch;
  const std::size_t values = static_cast<std::size_t>(rows.shape.width) * unit_;
  scratch.resize(values * parts_);
  write(rows, partner, y, 0, rows.shape.width, {scratch.data(), values});
  for (std::size_t part = 0; part < parts_; ++part)
    finishing::blend(scratch.data() + part * values, mix.own, values, to.at + part * to.apart);
}

void PictureFinisher::operator()(const Rows& rows, std::int64_t first, std::int64_t last, float* to) const {
  const auto height = static_cast<std::size_t>(rows.shape.height);
  const std::size_t values = static_cast<std::size_t>(rows.shape.width) * unit_;
  for (std::int64_t row = first; row < last; ++row) {
    float* const picture = to + static_cast<std::size_t>(row) * height * values * parts_;
    for (int y = 0; y < rows.shape.height; ++y) {
      const Line line{picture + static_cast<std::size_t>(y) * values, height * values};
      write(rows, row, y, 0, rows.shape.width, line);
      if (rows.mix) mix_in(rows, rows.mix->rows[row].partner, y, line);
    }
  }
}

}  // namespace flowtrain
