#include "sampling/images/repack.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"
#include "sampling/images/resize.h"
#include "sampling/images/stored_picture.h"

namespace flowtrain {
namespace {

/// Returns the size (height, width) of an image whose shorter edge is reduced to `edge`; 0: unchanged.
std::pair<int, int> brought_down(int height, int width, int edge) {
  const int shorter = std::min(height, width);
  if (edge == 0 || shorter <= edge) return {height, width};
  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(side) * edge / shorter)));
  };
  return {scaled(height), scaled(width)};
}

}  // namespace

PictureFile repack(const Record& record, const Repacking& how) {
  StoredPicture picture(record, how.decoding);
  check_channels(picture.channels());
  const bool has_region = record.region.x1 > record.region.x0 && record.region.y1 > record.region.y0;
  const auto stored =
      record.encoding == Encoding::image && !has_region ? format_of(record.bytes) : std::optional<FileFormat>();
  const Window seen = window_of(picture.height(), picture.width(), record.region);
  const Rect all = seen.rect();
  const auto [height, width] = brought_down(seen.height, seen.width, how.edge);
  const bool same_size = height == seen.height && width == seen.width;
  if (stored && same_size && !how.format) {
    picture.decode(all, seen, 1, 1);  // the smallest scale is enough to find damage
    return {*stored, {record.bytes.begin(), record.bytes.end()}};
  }
  const auto format = how.format.value_or(stored.value_or(FileFormat::png));
  const auto [pixels, from] = picture.decode(all, seen, height, width);
  if (same_size) return {format, encode_picture(pixels, format, how.quality)};
  Image smaller;
  smaller.reshape(height, width, pixels.channels);
  resize(pixels, from, Filter::antialias, false, height, width, smaller.pixels.data());
  return {format, encode_picture(smaller.view(), format, how.quality)};
}

}  // namespace flowtrain
