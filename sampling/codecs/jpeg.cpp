#include "sampling/codecs/jpeg.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <string>

#include "sampling/error.h"

namespace flowtrain {
namespace {

// A progressive file goes over all its blocks in each scan, and an empty scan takes a few bytes. Encoders write ten.
constexpr int max_scans = 100;

/// libjpeg's decoder and its error handling. libjpeg is C, so errors leave it by longjmp; nothing between the setjmp
/// in decode() and the handlers has a destructor to run.
class JpegDecoder {
 public:
  JpegDecoder() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = weigh;
    info_.client_data = this;
    jpeg_create_decompress(&info_);
    progress_.progress_monitor = leave_after_many_scans;
    info_.progress = &progress_;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  void decode(std::span<const std::byte> file, Image& out, Warnings warnings) {
    warnings_ = warnings;
    if (!read_header(file)) fail();
    refuse_bomb("JPEG", info_.image_width, info_.image_height, file.size());
    out.reshape(info_.image_height, info_.image_width, 3);
    if (!read_rows(out.pixels.data())) fail();
  }

 private:
  bool read_header(std::span<const std::byte> file) {
    if (setjmp(escape_)) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info_, TRUE);
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    return true;
  }

  bool read_rows(std::uint8_t* out) {
    if (setjmp(escape_)) return false;
    jpeg_start_decompress(&info_);
    const std::size_t stride_bytes = std::size_t{info_.output_width} * 3;
    if (info_.out_color_space == JCS_CMYK) {
      const auto common = reinterpret_cast<j_common_ptr>(&info_);
      auto rows = info_.mem->alloc_sarray(common, JPOOL_IMAGE, info_.output_width * 4, 1);
      while (info_.output_scanline < info_.output_height) {
        auto* to = out + info_.output_scanline * stride_bytes;
        jpeg_read_scanlines(&info_, rows, 1);
        inks_to_rgb(rows[0], info_.output_width, info_.saw_Adobe_marker, to);
      }
    } else {
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW row = out + info_.output_scanline * stride_bytes;
        jpeg_read_scanlines(&info_, &row, 1);
      }
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  /// Adobe's programs store inks inverted: 255 is no ink.
  static void inks_to_rgb(const std::uint8_t* cmyk, unsigned width, bool inverted, std::uint8_t* rgb) {
    const unsigned flip = inverted ? 0 : 255;
    for (unsigned x = 0; x < width; ++x) {
      const unsigned light = cmyk[4 * x + 3] ^ flip;
      for (unsigned c = 0; c < 3; ++c)
        rgb[3 * x + c] = static_cast<std::uint8_t>(((cmyk[4 * x + c] ^ flip) * light + 127) / 255);
    }
  }

  [[noreturn]] void fail() { throw SampleError(std::string("JPEG: ") + message_); }

  [[noreturn]] static void leave(j_common_ptr info) {
    auto* self = static_cast<JpegDecoder*>(info->client_data);
    info->err->format_message(info, self->message_);
    std::longjmp(self->escape_, 1);
  }
  /// A level below 0 is a warning, others are traces.
  static void weigh(j_common_ptr info, int level) {
    if (level < 0 && static_cast<JpegDecoder*>(info->client_data)->warnings_ == Warnings::bad) leave(info);
  }
  static void leave_after_many_scans(j_common_ptr info) {
    auto* self = static_cast<JpegDecoder*>(info->client_data);
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

void decode_jpeg(std::span<const std::byte> file, Image& out, Warnings warnings) {
  // One per picture: a decoder keeps its tables, and a damaged picture that lost its own would be read with those of
  // whichever picture this thread had before.
  JpegDecoder decoder;
  decoder.decode(file, out, warnings);
}

}  // namespace flowtrain
