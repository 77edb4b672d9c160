#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

/// Returns the data after `start` in the first chunk of a PNG file that has this type and begins so, before or after
/// the pixels; nothing if there is none or its checksum is wrong. libpng is told to skip all such chunks, and would
/// look no further than the pixels.
std::span<const std::byte> chunk_in_png(std::span<const std::byte> file, std::string_view type,
                                        std::string_view start = {}) {
  constexpr std::size_t signature_bytes = 8, around_bytes = 12;  // length and type before the data, checksum after
  auto left = file.subspan(std::min(signature_bytes, file.size()));
  while (left.size() >= around_bytes) {
    const std::size_t length = number_in(left.first(4), false);
    if (length > left.size() - around_bytes) return {};
    const auto data = left.subspan(8, length);
    if (starts_with(left.subspan(4), type) && starts_with(data, start)) {
      const auto* checked = reinterpret_cast<const Bytef*>(left.data() + 4);
      const auto checksum = crc32_z(0, checked, 4 + length);
      if (checksum != number_in(left.subspan(8 + length, 4), false)) return {};
      return data.subspan(start.size());
    }
    left = left.subspan(around_bytes + length);
  }
  return {};
}

int orientation_in_png(std::span<const std::byte> file) {
  constexpr std::string_view xmp_name("XML:com.adobe.xmp\0\0", 19);  // the second 0: the text is not packed
  return orientation_of(chunk_in_png(file, "eXIf"), chunk_in_png(file, "iTXt", xmp_name));
}

/// Reads one file. libpng is C, so errors leave it by longjmp; nothing between the setjmps and the handlers has a
/// destructor to run.
class PngReader : public PictureReader {
 public:
  PngReader(std::span<const std::byte> file, Exif exif)
      : left_(file), file_bytes_(file.size()), orientation_(exif == Exif::apply ? orientation_in_png(file) : 1) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, weigh);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void open() {
    if (!read_header()) fail();
    const auto height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
    refuse_bomb("PNG", width, height, file_bytes_);
    check_size(height, width);
  }

  int height() const override { return static_cast<int>(png_get_image_height(png_, info_)); }
  int width() const override { return static_cast<int>(png_get_image_width(png_, info_)); }
  int orientation() const override { return orientation_; }

  Picture read(const Window& part, int, Image& out) override {
    // libpng reads whole rows; those of an interlaced file are complete only together.
    const int above = passes_ > 1 ? part.y : 0, below = passes_ > 1 ? height() - part.y - part.height : 0;
    out.reshape(above + part.height + below, width(), 3);
    if (!read_rows(out, part.y - above)) fail();
    return crop(out.view(), {part.x, above, part.height, part.width});
  }

 private:
  bool read_header() {
    if (setjmp(escape_)) return false;
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, std::size_t size) {
      static_cast<PngReader*>(png_get_io_ptr(png))->read(to, size);
    });
    // All chunks that pixels do not need are skipped: a thousand packed texts could unpack to gigabytes.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    // Some writers state a window that is smaller than the one of their packed pixels.
    png_set_option(png_, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    png_read_info(png_, info_);
    // Pixels that unpack without an error are accepted, whatever their chunks' checksums say, as in Pillow.
    png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    png_set_expand(png_);    // palettes, few bits, and a transparent colour
    png_set_strip_16(png_);  // the upper 8 bits, as in Pillow and OpenCV
    png_set_gray_to_rgb(png_);
    if ((png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) || png_get_valid(png_, info_, PNG_INFO_tRNS)) {
      const png_color_16 black{};
      png_set_background(png_, &black, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
    }
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_channels(png_, info_) != 3 || png_get_bit_depth(png_, info_) != 8)
      png_error(png_, "unknown pixel format");
    return true;
  }

  /// Skips the first `skipped` rows, and fills `out` with those that follow. The file after the last row is not read:
  /// files without an end mark are otherwise complete.
  bool read_rows(Image& out, int skipped) {
    if (setjmp(escape_)) return false;
    for (int y = 0; y < skipped; ++y) png_read_row(png_, out.pixels.data(), nullptr);
    for (int pass = 0; pass < passes_; ++pass)
      for (int y = 0; y < out.height; ++y) png_read_row(png_, out.row(y), nullptr);
    return true;
  }

  void read(png_bytep to, std::size_t size) {
    if (size > left_.size()) png_error(png_, "truncated");
    std::memcpy(to, left_.data(), size);
    left_ = left_.subspan(size);
  }

  [[noreturn]] void fail() const { throw SampleError(std::string("PNG: ") + message_); }

  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    std::longjmp(self->escape_, 1);
  }
  // A wrong checksum of zlib is an error; other warnings, as of odd colour profiles, do not concern pixels.
  static void weigh(png_structp png, png_const_charp message) {
    if (std::strstr(message, "incorrect data check")) leave(png, message);
  }

  std::span<const std::byte> left_;
  std::uint64_t file_bytes_;
  int orientation_;
  int passes_ = 1;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf escape_;
  char message_[128] = {};
};

}  // namespace

PictureReader& open_png(std::span<const std::byte> file, Exif exif) {
  thread_local std::optional<PngReader> reader;
  reader.emplace(file, exif).open();
  return *reader;
}

}  // namespace flowtrain
