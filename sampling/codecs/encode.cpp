#include "sampling/codecs/encode.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

void check_picture(const Picture& picture, int most, const char* format) {
  if (picture.channels != 1 && picture.channels != 3) throw InternalError("encoding needs 1 or 3 channels");
  if (std::max(picture.height, picture.width) > most)
    throw SampleError(concat(format, " cannot hold an image of ", picture.width, "x", picture.height,
                             " pixels: a side has at most ", most));
}

std::vector<std::byte> bytes_of(const std::uint8_t* data, std::size_t size_bytes) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  return {bytes, bytes + size_bytes};
}

/// Encodes with libjpeg. That is C, so errors leave it by longjmp; nothing between the setjmp and the handler has a
/// destructor to run.
class JpegWriter {
 public:
  JpegWriter() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    info_.client_data = this;
    jpeg_create_compress(&info_);
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&info_);
    std::free(data_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::vector<std::byte> write(const Picture& picture, int quality) {
    if (!run(picture, quality)) {
      data_ = nullptr;  // libjpeg may have moved it silently; only memory can still run short here
      throw SampleError(std::string("JPEG: ") + message_);
    }
    return bytes_of(data_, size_bytes_);
  }

 private:
  bool run(const Picture& picture, int quality) {
    if (setjmp(escape_)) return false;
    jpeg_mem_dest(&info_, &data_, &size_bytes_);
    info_.image_height = static_cast<JDIMENSION>(picture.height);
    info_.image_width = static_cast<JDIMENSION>(picture.width);
    info_.input_components = picture.channels;
    info_.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      // libjpeg's own type lacks the const; it does not write to its input.
      JSAMPROW row = const_cast<JSAMPROW>(picture.row(static_cast<int>(info_.next_scanline)));
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  [[noreturn]] static void leave(j_common_ptr info) {
    auto* self = static_cast<JpegWriter*>(info->client_data);
    info->err->format_message(info, self->message_);
    std::longjmp(self->escape_, 1);
  }

  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  unsigned char* data_ = nullptr;
  unsigned long size_bytes_ = 0;
  std::jmp_buf escape_;
  char message_[JMSG_LENGTH_MAX] = {};
};

std::vector<std::byte> encode_webp(const Picture& picture, int quality) {
  check_picture(picture, WEBP_MAX_DIMENSION, "WebP");
  Image coloured;
  const Picture from = in_colour(picture, coloured);
  std::uint8_t* data = nullptr;
  const auto size_bytes = WebPEncodeRGB(from.pixels, from.width, from.height, static_cast<int>(from.stride_bytes),
                                        static_cast<float>(quality), &data);
  const std::unique_ptr<std::uint8_t, void (*)(void*)> owner(data, WebPFree);
  if (size_bytes == 0) throw SampleError("WebP: the image cannot be encoded");
  return bytes_of(data, size_bytes);
}

}  // namespace

const char* ending_of(FileFormat format) {
  return format == FileFormat::jpeg ? "jpg" : format == FileFormat::png ? "png" : "webp";
}

std::vector<std::byte> encode_picture(const Picture& picture, FileFormat format, int quality) {
  if (format == FileFormat::png) return encode_png(picture);
  if (format == FileFormat::webp) return encode_webp(picture, quality);
  check_picture(picture, JPEG_MAX_DIMENSION, "JPEG");
  return JpegWriter().write(picture, quality);
}

std::vector<std::byte> encode_png(const Picture& picture) {
  check_picture(picture, PNG_USER_WIDTH_MAX, "PNG");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<std::uint32_t>(picture.width);
  image.height = static_cast<std::uint32_t>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const auto stride = static_cast<png_int_32>(picture.stride_bytes);
  png_alloc_size_t size_bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(size_bytes);
  if (!png_image_write_to_memory(&image, file.data(), &size_bytes, 0, picture.pixels, stride, nullptr))
    throw InternalError(std::string("PNG: ") + image.message);
  file.resize(size_bytes);
  return file;
}

void write_png(const std::string& path, const Picture& picture) {
  const auto file = encode_png(picture);
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  stream.close();
  if (!stream)
    throw UserError(ExitCode::snapshot, "cannot write '" + path + "'", "check the folder and the free space");
}

}  // namespace flowtrain
