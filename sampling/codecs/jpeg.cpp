#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// A progressive file visits all its blocks in each scan, and an empty scan takes a few bytes. Encoders write ten scans.
constexpr int max_scans = 100;

// Upsampled colour depends on the neighbour column, and libjpeg treats a cut of rows as the edge of the image.
constexpr int spare_columns = 2;

/// Decodes with libjpeg. That is C, so errors leave it by longjmp; nothing between the setjmps and the handlers has a
/// destructor to run. Each image has its own decoder: a decoder keeps its tables, and would read a damaged image that
/// lost its own with those of the image before.
class JpegReader : public PictureReader {
 public:
  JpegReader(Warnings warnings, Exif exif) : warnings_(warnings) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = weigh;
    info_.client_data = this;
    jpeg_create_decompress(&info_);
    progress_.progress_monitor = leave_after_many_scans;
    info_.progress = &progress_;
    // Kept blocks are copied, and some hold a small picture.
    if (exif == Exif::apply) jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
  }
  ~JpegReader() override { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  void open(std::span<const std::byte> file) {
    if (!read_header(file)) fail();
    refuse_bomb("JPEG", info_.image_width, info_.image_height, file.size(), 3 + kept_bytes());
    check_size(info_.image_height, info_.image_width);
  }

  int height() const override { return static_cast<int>(info_.image_height); }
  int width() const override { return static_cast<int>(info_.image_width); }

  int largest_divisor() const override { return 8; }

  int orientation() const override {
    constexpr std::string_view exif_name("Exif\0\0", 6), xmp_name("http://ns.adobe.com/xap/1.0/\0", 29);
    std::span<const std::byte> exif, xmp;
    for (auto* marker = info_.marker_list; marker; marker = marker->next) {
      const std::span block(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
      if (exif.empty() && starts_with(block, exif_name)) exif = block;  // others continue the first one
      if (starts_with(block, xmp_name)) xmp = block;
    }
    return orientation_of(exif, xmp);
  }

  Picture read(const Window& part, int divisor, Image& out) override {
    JDIMENSION x = 0;
    if (!start(part, divisor, x)) fail();
    out.reshape(part.height, static_cast<int>(info_.output_width), 3);
    if (!read_rows(out)) fail();
    return crop(out.view(), {part.x - static_cast<int>(x), 0, part.height, part.width});
  }

 private:
  /// Returns the bytes kept per pixel, rounded up: with several scans libjpeg keeps all coefficients, 16 bits each.
  std::uint64_t kept_bytes() {
    if (!jpeg_has_multiple_scans(&info_)) return 0;
    int most = 1, all = 0;  // coefficients of a block of pixels
    for (int i = 0; i < info_.num_components; ++i) {
      const int coefficients = info_.comp_info[i].h_samp_factor * info_.comp_info[i].v_samp_factor;
      most = std::max(most, coefficients);
      all += coefficients;
    }
    return static_cast<std::uint64_t>((2 * all + most - 1) / most);
  }

  bool read_header(std::span<const std::byte> file) {
    if (setjmp(escape_)) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info_, TRUE);
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    return true;
  }

  /// `x` becomes the first column that will be read.
  bool start(const Window& part, int divisor, JDIMENSION& x) {
    if (setjmp(escape_)) return false;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(divisor);
    jpeg_start_decompress(&info_);
    const auto end = std::min(info_.output_width, static_cast<JDIMENSION>(part.x + part.width + spare_columns));
    x = static_cast<JDIMENSION>(std::max(0, part.x - spare_columns));
    JDIMENSION width = end - x;
    if (width < info_.output_width) jpeg_crop_scanline(&info_, &x, &width);
    if (part.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(part.y));
    return true;
  }

  bool read_rows(Image& out) {
    if (setjmp(escape_)) return false;
    JSAMPARRAY inks = nullptr;
    if (info_.out_color_space == JCS_CMYK)
      inks = info_.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info_), JPOOL_IMAGE, info_.output_width * 4, 1);
    for (int y = 0; y < out.height; ++y) {
      JSAMPROW row = inks ? inks[0] : out.row(y);
      jpeg_read_scanlines(&info_, &row, 1);
      if (inks) inks_to_rgb(row, info_.output_width, out.row(y));
    }
    if (info_.output_scanline == info_.output_height) jpeg_finish_decompress(&info_);
    return true;
  }

  /// Converts CMYK. Inks are stored inverted: 255 is no ink. Adobe's programs began it, and all readers assume it, with
  /// or without Adobe's marker.
  static void inks_to_rgb(const std::uint8_t* cmyk, unsigned width, std::uint8_t* rgb) {
    for (unsigned x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
      const unsigned light = cmyk[3];
      rgb[0] = static_cast<std::uint8_t>((cmyk[0] * light + 127) / 255);
      rgb[1] = static_cast<std::uint8_t>((cmyk[1] * light + 127) / 255);
      rgb[2] = static_cast<std::uint8_t>((cmyk[2] * light + 127) / 255);
    }
  }

  [[noreturn]] void fail() { throw SampleError(std::string("JPEG: ") + message_); }

  [[noreturn]] static void leave(j_common_ptr info) {
    auto* self = static_cast<JpegReader*>(info->client_data);
    info->err->format_message(info, self->message_);
    std::longjmp(self->escape_, 1);
  }
  /// Handles a message: a level below 0 is a warning, others are traces.
  static void weigh(j_common_ptr info, int level) {
    if (level < 0 && static_cast<JpegReader*>(info->client_data)->warnings_ == Warnings::bad) leave(info);
  }
  static void leave_after_many_scans(j_common_ptr info) {
    auto* self = static_cast<JpegReader*>(info->client_data);
    if (self->info_.input_scan_number <= max_scans) return;
    std::snprintf(self->message_, sizeof self->message_, "more than %d scans", max_scans);
    std::longjmp(self->escape_, 1);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  Warnings warnings_ = Warnings::bad;
  std::jmp_buf escape_;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

PictureReader& open_jpeg(std::span<const std::byte> file, Warnings warnings, Exif exif) {
  thread_local std::optional<JpegReader> reader;
  reader.emplace(warnings, exif).open(file);
  return *reader;
}

}  // namespace flowtrain
