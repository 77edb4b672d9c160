#include <webp/decode.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// Upsampled colour depends on the neighbours, and libwebp treats a cut as the edge of the image.
constexpr int spare = 2;

/// Returns the contents of the first chunk of this name in a WebP file (a RIFF list: name, length, data padded to an
/// even length); nothing if there is none.
std::span<const std::byte> chunk_in_webp(std::span<const std::byte> file, std::string_view name) {
  constexpr std::size_t list_header_bytes = 12, header_bytes = 8;
  auto left = file.subspan(std::min(list_header_bytes, file.size()));
  while (left.size() >= header_bytes) {
    const std::size_t length = number_in(left.subspan(4, 4), true);
    const auto data = left.subspan(header_bytes, std::min(length, left.size() - header_bytes));
    if (data.size() < length) return {};
    if (starts_with(left, name)) return data;
    left = left.subspan(std::min(header_bytes + length + length % 2, left.size()));
  }
  return {};
}

class WebpReader : public PictureReader {
 public:
  WebpReader(std::span<const std::byte> file, Exif exif)
      : file_(file),
        orientation_(exif == Exif::apply ? orientation_of(chunk_in_webp(file, "EXIF"), chunk_in_webp(file, "XMP "))
                                         : 1) {
    if (!WebPInitDecoderConfig(&config_)) throw InternalError("libwebp has another version than its header");
    const auto status = WebPGetFeatures(bytes(), file.size(), &config_.input);
    if (status != VP8_STATUS_OK) throw SampleError("WebP: the header is damaged or cut short");
    if (config_.input.has_animation) throw SampleError("WebP: an animation, not a picture");
    // Losslessly packed pixels are kept whole beside the image, as are transparent ones.
    constexpr int lossy = 1;
    const bool kept = config_.input.has_alpha || config_.input.format != lossy;
    refuse_bomb("WebP", static_cast<std::uint64_t>(width()), static_cast<std::uint64_t>(height()), file.size(),
                kept ? 8 : 3);
  }

  int height() const override { return config_.input.height; }
  int width() const override { return config_.input.width; }
  int orientation() const override { return orientation_; }

  Picture read(const Window& part, int, Image& out) override {
    // libwebp begins at even pixels.
    const int x = std::max(0, part.x - spare) & ~1, y = std::max(0, part.y - spare) & ~1;
    auto& options = config_.options;
    options.use_cropping = 1;
    options.crop_left = x;
    options.crop_top = y;
    options.crop_width = std::min(width(), part.x + part.width + spare) - x;
    options.crop_height = std::min(height(), part.y + part.height + spare) - y;
    const bool transparent = config_.input.has_alpha != 0;
    thread_local Image with_alpha;
    Image& decoded = transparent ? with_alpha : out;
    decoded.reshape(options.crop_height, options.crop_width, transparent ? 4 : 3);
    auto& to = config_.output;
    to.colorspace = transparent ? MODE_rgbA : MODE_RGB;  // rgbA: colours come multiplied by their alpha
    to.is_external_memory = 1;
    to.u.RGBA = {decoded.pixels.data(), options.crop_width * decoded.channels, decoded.pixels.size()};
    if (WebPDecode(bytes(), file_.size(), &config_) != VP8_STATUS_OK)
      throw SampleError("WebP: the data is damaged or cut short");
    if (transparent) drop_alpha(decoded, out);
    return crop(out.view(), {part.x - x, part.y - y, part.height, part.width});
  }

 private:
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(file_.data()); }

  static void drop_alpha(const Image& from, Image& to) {
    to.reshape(from.height, from.width, 3);
    for (std::size_t i = 0; i < from.pixels.size() / 4; ++i)
      std::copy_n(from.pixels.data() + 4 * i, 3, to.pixels.data() + 3 * i);
  }

  std::span<const std::byte> file_;
  int orientation_;
  WebPDecoderConfig config_;
};

}  // namespace

PictureReader& open_webp(std::span<const std::byte> file, Exif exif) {
  thread_local std::optional<WebpReader> reader;
  return reader.emplace(file, exif);
}

}  // namespace flowtrain
