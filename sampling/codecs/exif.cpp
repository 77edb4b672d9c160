#include "sampling/codecs/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace flowtrain {
namespace {

/// Reads numbers of a TIFF block in its own byte order; they are 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes)
      : bytes_(bytes), little_(!bytes.empty() && bytes[0] == std::byte{'I'}) {}

  /// Returns whether the block begins with "II" or "MM" and 42.
  bool has_header() const {
    return bytes_.size() > 1 && bytes_[0] == bytes_[1] && (little_ || bytes_[0] == std::byte{'M'}) &&
           number(2, 2) == 42;
  }

  std::uint32_t number(std::size_t at, int size) const {
    const auto length = static_cast<std::size_t>(size);
    return at + length > bytes_.size() ? 0 : number_in(bytes_.subspan(at, length), little_);
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

/// The place at which the seen pixel (x, y) is stored: (x, y), or (y, x) if `exchanged`, counted from the right or from
/// the bottom of the stored image if the other two members are set.
struct Turn {
  bool exchanged, from_right, from_bottom;
};

constexpr Turn turns[] = {{},  // indexed by orientation, 1 … 8
                          {false, false, false},
                          {false, true, false},
                          {false, true, true},
                          {false, false, true},
                          {true, false, false},
                          {true, false, true},
                          {true, true, true},
                          {true, true, false}};

/// Returns the value of the directory's tag "Orientation", if it exists. It is 0 if the type is not integer, and XMP
/// does not count then.
std::optional<std::uint32_t> exif_orientation(std::span<const std::byte> block) {
  constexpr std::string_view name("Exif\0\0", 6);
  constexpr std::size_t entry_bytes = 12;
  constexpr std::uint32_t orientation_tag = 0x112, short_type = 3, long_type = 4;
  if (starts_with(block, name)) block = block.subspan(name.size());
  const Tiff tiff(block);
  if (!tiff.has_header()) return {};
  std::optional<std::uint32_t> found;  // the last tag counts
  const std::size_t directory = tiff.number(4, 4), entries = tiff.number(directory, 2);
  for (std::size_t i = 0; i < entries && directory + 2 + i * entry_bytes < block.size(); ++i) {
    const std::size_t entry = directory + 2 + i * entry_bytes;
    if (tiff.number(entry, 2) != orientation_tag) continue;
    const auto type = tiff.number(entry + 2, 2), count = tiff.number(entry + 4, 4);
    const int size = type == short_type ? 2 : type == long_type ? 4 : 0;
    const bool is_inside = std::uint64_t{count} * static_cast<unsigned>(size) <= 4;  // others are offsets
    found = tiff.number(is_inside ? entry + 8 : tiff.number(entry + 8, 4), size);
  }
  return found;
}

/// Returns the digit of `tiff:Orientation`, written as an attribute or as an element.
std::optional<std::uint32_t> xmp_orientation(std::span<const std::byte> packet) {
  const std::string_view text(reinterpret_cast<const char*>(packet.data()), packet.size());
  for (std::size_t at = 0; (at = text.find("tiff:Orientation", at)) != text.npos;) {
    auto left = text.substr(at += std::strlen("tiff:Orientation"));
    if (left.starts_with("=\"") || left.starts_with('>'))
      left.remove_prefix(left[0] == '=' ? 2 : 1);
    else
      continue;
    if (!left.empty() && left[0] >= '0' && left[0] <= '9') return static_cast<std::uint32_t>(left[0] - '0');
  }
  return {};
}

}  // namespace

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(text);
}

std::uint32_t number_in(std::span<const std::byte> bytes, bool little_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[little_endian ? bytes.size() - 1 - i : i]);
  return value;
}

int orientation_of(std::span<const std::byte> exif, std::span<const std::byte> xmp) {
  auto found = exif_orientation(exif);
  if (!found) found = xmp_orientation(xmp);
  return found && *found >= 1 && *found <= 8 ? static_cast<int>(*found) : 1;
}

Rect as_stored(const Rect& part, int orientation, int height, int width) {
  const Turn turn = turns[orientation];
  Rect stored = turn.exchanged ? Rect{part.y, part.x, part.height, part.width} : part;
  if (turn.from_right) stored.x = width - stored.x - stored.width;
  if (turn.from_bottom) stored.y = height - stored.y - stored.height;
  return stored;
}

Rect as_seen(const Rect& part, int orientation, int height, int width) {
  const Turn turn = turns[orientation];
  Rect seen = part;
  if (turn.from_right) seen.x = width - part.x - part.width;
  if (turn.from_bottom) seen.y = height - part.y - part.height;
  return turn.exchanged ? Rect{seen.y, seen.x, seen.height, seen.width} : seen;
}

void orient(const Picture& stored, int orientation, Image& seen) {
  const Turn turn = turns[orientation];
  const int height = turn.exchanged ? stored.width : stored.height,
            width = turn.exchanged ? stored.height : stored.width;
  seen.reshape(height, width, stored.channels);
  std::uint8_t* to = seen.pixels.data();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x, to += stored.channels) {
      int from_x = turn.exchanged ? y : x, from_y = turn.exchanged ? x : y;
      if (turn.from_right) from_x = stored.width - 1 - from_x;
      if (turn.from_bottom) from_y = stored.height - 1 - from_y;
      std::copy_n(stored.row(from_y) + from_x * stored.channels, stored.channels, to);
    }
}

}  // namespace flowtrain
