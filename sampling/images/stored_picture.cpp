#include "sampling/images/stored_picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sampling/codecs/color.h"
#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/datasets/shapes.h"
#include "sampling/images/picture_cache.h"

namespace flowtrain {
namespace {

/// Returns the largest divisor up to `most` that leaves at least (height, width) pixels of `part`.
int divisor_for(const Rect& part, int height, int width, int most) {
  int divisor = most;
  while (divisor > 1 && (part.width / divisor < width || part.height / divisor < height)) divisor /= 2;
  return divisor;
}

/// Returns the first pixel that a filter sees, and how many, if `length` pixels from `start` on become `count`: among
/// the pixels from `least` to `end`, all in full size, at 1/divisor of it.
std::pair<int, int> seen_pixels(double start, double length, int count, double least, double end, int divisor) {
  const double margin = divisor * (std::max(length / divisor / count, 1.0) + 1);
  const int first = static_cast<int>(std::floor(std::max(least, start - margin) / divisor));
  const int last = static_cast<int>(std::ceil(std::min(end, start + length + margin) / divisor));
  return {first, last - first};
}

Picture stored_pixels(const Record& record) {
  const std::uint64_t pixels = std::uint64_t{record.height} * record.width;  // each fits 32 bits
  const auto shape = [&] { return concat("pixels of ", record.height, "x", record.width, "x", record.channels); };
  if (pixels > max_pixels || record.channels > 4)
    throw SampleError(shape() + " (allowed: up to 2^28 pixels and 4 channels)");
  if (pixels * record.channels == 0 || record.bytes.size() != pixels * record.channels)
    throw SampleError(concat(shape(), " do not fit ", record.bytes.size(), " stored bytes"));
  return {reinterpret_cast<const std::uint8_t*>(record.bytes.data()), static_cast<int>(record.height),
          static_cast<int>(record.width), static_cast<int>(record.channels),
          std::size_t{record.width} * record.channels};
}

/// Throws SampleError if boxes were drawn on an image of another size; the message has the way out if the image would
/// fit when turned, or when left as it is.
void check_annotated_size(const Record& record, int height, int width, const Decoding& how) {
  const auto fits = [&](int rows, int columns) {
    return (record.height == 0 || record.height == static_cast<std::uint32_t>(rows)) &&
           (record.width == 0 || record.width == static_cast<std::uint32_t>(columns));
  };
  if (fits(height, width)) return;
  const bool applies = how.exif == Exif::apply;
  PictureReader& other = open_picture(record.bytes, how.warnings, applies ? Exif::ignore : Exif::apply);
  const bool turned = is_turned(other.orientation());
  const bool other_fits = turned ? fits(other.width(), other.height()) : fits(other.height(), other.width());
  throw SampleError(concat("the annotation is for an image of ", record.width ? record.width : width, "x",
                           record.height ? record.height : height, " pixels, but this one has ", width, "x", height,
                           !other_fits ? ""
                           : applies   ? "; it fits the stored image: set sampler.exif = \"ignore\""
                                       : "; it fits the image turned by Exif: set sampler.exif = \"apply\""));
}

/// Decodes a whole image file and turns it by its orientation, so that a kept image needs no turning.
Picture decode_whole(const Record& record, Image& out, const Decoding& how) {
  PictureReader& reader = open_picture(record.bytes, how.warnings, how.exif);
  thread_local Image stored;
  const int orientation = reader.orientation();  // the header is gone after the read
  const bool turned = is_turned(orientation);
  check_annotated_size(record, turned ? reader.width() : reader.height(), turned ? reader.height() : reader.width(),
                       how);
  Picture picture = reader.read({0, 0, reader.height(), reader.width()}, 1, orientation == 1 ? out : stored);
  if (orientation != 1) {
    orient(picture, orientation, out);
    picture = out.view();
  }
  if (record.cache) record.cache->keep(record, picture);
  return picture;
}

}  // namespace

Picture picture_of(const Record& record, Image& scratch, const Decoding& how) {
  switch (record.encoding) {
    case Encoding::pixels: return stored_pixels(record);
    case Encoding::image: return decode_whole(record, scratch, how);
    case Encoding::shapes: draw_shapes(record.bytes, scratch); break;
    case Encoding::bytes:
    case Encoding::text:
    case Encoding::array:
    case Encoding::audio: throw SampleError("the record holds no image");
  }
  if (record.cache) record.cache->keep(record, scratch.view());
  return scratch.view();
}

Picture whole_picture(const Record& record, const Decoding& how) {
  thread_local Image decoded, coloured;
  if (record.region.x1 > record.region.x0)
    throw SampleError("the sample is a part of an image, but detection needs whole images with their boxes");
  return in_colour(picture_of(record, decoded, how), coloured);
}

StoredPicture::StoredPicture(const Record& record, const Decoding& how) : fast_(how.fast) {
  if (record.encoding == Encoding::image && !record.cache) {
    reader_ = &open_picture(record.bytes, how.warnings, how.exif);
    height_ = reader_->height();
    width_ = reader_->width();
    orientation_ = reader_->orientation();
    if (is_turned(orientation_)) std::swap(height_, width_);
    check_annotated_size(record, height_, width_, how);
    return;
  }
  thread_local Image whole;
  whole_ = picture_of(record, whole, how);
  height_ = whole_.height;
  width_ = whole_.width;
  channels_ = whole_.channels;
}

StoredPicture::Part StoredPicture::decode(const Rect& part, const Window& within, int height, int width) {
  const bool turned = is_turned(orientation_);
  if (turned) std::swap(height, width);
  const int stored_height = turned ? width_ : height_, stored_width = turned ? height_ : width_;
  const auto stored = [&](const Rect& seen) { return as_stored(seen, orientation_, stored_height, stored_width); };
  const Rect at = stored(part);
  const Rect limit = stored(within.rect());
  const int divisor = reader_ && fast_ ? divisor_for(at, height, width, reader_->largest_divisor()) : 1;
  const auto [x, columns] = seen_pixels(at.x, at.width, width, limit.x, limit.x + limit.width, divisor);
  const auto [y, rows] = seen_pixels(at.y, at.height, height, limit.y, limit.y + limit.height, divisor);
  const Window window{x, y, rows, columns};
  const Rect from{at.x / divisor - x, at.y / divisor - y, at.width / divisor, at.height / divisor};
  if (!reader_) return {crop(whole_, window), from};
  thread_local Image decoded, seen;
  const Picture picture = reader_->read(window, divisor, decoded);
  if (orientation_ == 1) return {picture, from};
  orient(picture, orientation_, seen);
  return {seen.view(), as_seen(from, orientation_, rows, columns)};
}

Window window_of(int height, int width, const Box& region) {
  if (region.x1 <= region.x0 || region.y1 <= region.y0) return {0, 0, height, width};
  // The values are clamped as floats first, because a damaged file may hold values that no int can.
  const auto inside = [](float value, int end) { return std::clamp(value, 0.0f, static_cast<float>(end)); };
  const int x0 = static_cast<int>(std::floor(inside(region.x0, width)));
  const int y0 = static_cast<int>(std::floor(inside(region.y0, height)));
  const int x1 = static_cast<int>(std::ceil(inside(region.x1, width)));
  const int y1 = static_cast<int>(std::ceil(inside(region.y1, height)));
  if (x1 <= x0 || y1 <= y0) throw SampleError(concat("the box is outside of the image of ", width, "x", height));
  return {x0, y0, y1 - y0, x1 - x0};
}

}  // namespace flowtrain
