#include "sampling/audio/mp3.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// A header of a frame, as far as it decides the frame's size and what others are like it.
struct Mp3Frame {
  bool is_mpeg1 = false, is_mono = false;
  std::uint32_t rate = 0;  ///< samples a second
  std::uint64_t size = 0;  ///< bytes, with the header

  /// Returns the bytes between the header and the sound: a Xing or Info header stands behind them.
  std::size_t side_bytes() const { return is_mpeg1 ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17); }
  bool is_like(const Mp3Frame& other) const { return is_mpeg1 == other.is_mpeg1 && rate == other.rate; }
};

constexpr std::size_t mp3_header_bytes = 4;

/// Returns the frame of a header; nothing if it is none, of another layer, or of a size that it does not tell.
std::optional<Mp3Frame> mp3_frame(std::span<const std::byte> header) {
  constexpr std::uint32_t kilobits[2][15] = {{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
                                             {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}};
  constexpr std::uint32_t rates[] = {44100, 48000, 32000};
  if (header.size() < mp3_header_bytes) return {};
  const auto bits = [&](std::size_t byte, unsigned shift, unsigned mask) {
    return std::to_integer<unsigned>(header[byte]) >> shift & mask;
  };
  constexpr unsigned mpeg25 = 0, unknown_version = 1, mpeg1 = 3, layer3 = 1, mono = 3;
  const unsigned version = bits(1, 3, 3), rate = bits(2, 2, 3), speed = bits(2, 4, 15);
  if (bits(0, 0, 255) != 255 || bits(1, 5, 7) != 7 || version == unknown_version || bits(1, 1, 3) != layer3) return {};
  if (rate == std::size(rates) || speed == 0 || speed == std::size(kilobits[0])) return {};
  Mp3Frame frame{.is_mpeg1 = version == mpeg1, .is_mono = bits(3, 6, 3) == mono};
  frame.rate = rates[rate] >> (version == mpeg1 ? 0 : version == mpeg25 ? 2 : 1);
  const std::uint32_t slots = frame.is_mpeg1 ? 144'000 : 72'000;
  frame.size = slots * kilobits[frame.is_mpeg1][speed] / frame.rate + bits(2, 1, 1);
  return frame;
}

std::optional<Mp3Frame> mp3_frame_at(const ByteSource& file, std::uint64_t at) {
  std::array<std::byte, mp3_header_bytes> header{};
  return mp3_frame(std::span(header).first(file.read_at(at, header)));
}

/// Returns the size of the tag, ID3v2, ID3v1 or APE, that begins at a place; 0 if none does.
std::uint64_t tag_bytes_at(const ByteSource& file, std::uint64_t at) {
  constexpr std::uint64_t id3v2_bytes = 10, id3v1_bytes = 128, ape_bytes = 32;  // headers, and all of ID3v1
  std::array<std::byte, ape_bytes> head{};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), file.read_at(at, head));
  if (text.starts_with("TAG")) return id3v1_bytes;
  if (text.size() == ape_bytes && text.starts_with("APETAGEX")) {
    std::uint32_t size;
    std::memcpy(&size, head.data() + 12, sizeof size);
    return size + ape_bytes;
  }
  if (text.size() < id3v2_bytes || !text.starts_with("ID3")) return 0;
  std::uint64_t size = 0;
  for (std::size_t i = 6; i < id3v2_bytes; ++i)
    size = size << 7 | std::to_integer<std::uint64_t>(head[i] & std::byte{127});
  const bool has_footer = (head[5] & std::byte{16}) != std::byte{};
  return size + id3v2_bytes * (has_footer ? 2 : 1);
}

std::uint64_t behind_tags(const ByteSource& file, std::uint64_t at) {
  while (const auto size = tag_bytes_at(file, at)) at += size;  // reads nothing behind the end
  return at;
}

/// Returns where the next frame begins before `end` that another one follows, or the end of the file.
std::optional<std::uint64_t> find_mp3_frame(const ByteSource& file, std::uint64_t from, std::uint64_t end) {
  std::vector<std::byte> block(1 << 14);
  for (std::uint64_t at = from; at < end;) {
    const auto size = file.read_at(at, std::span(block).first(std::min<std::uint64_t>(block.size(), end - at)));
    if (size == 0) break;
    for (std::size_t i = 0; i < size; ++i) {
      if (block[i] != std::byte{255}) continue;
      const auto frame = mp3_frame_at(file, at + i);
      if (!frame) continue;
      const auto next = mp3_frame_at(file, at + i + frame->size);
      if (next ? next->is_like(*frame) : at + i + frame->size == file.size_bytes()) return at + i;
    }
    at += size;
  }
  return {};
}

std::uint64_t big_endian_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (const auto byte : bytes.subspan(at, 4)) number = number << 8 | std::to_integer<std::uint64_t>(byte);
  return number;
}

/// Reads the header of a file's length that a frame may hold in the place of sound. Returns whether there is one.
bool read_length(const ByteSource& file, std::uint64_t at, const Mp3Frame& frame, Mp3Start& start) {
  constexpr std::size_t vbri_at = 36, vbri_frames = 14, checksum_bytes = 2;
  std::array<std::byte, 64> bytes{};
  file.read_at(at, std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), frame.size)));
  const auto is_at = [&](std::size_t place, std::string_view tag) {
    return std::memcmp(bytes.data() + place, tag.data(), tag.size()) == 0;
  };
  for (const auto extra : {std::size_t{0}, checksum_bytes}) {
    const auto place = mp3_header_bytes + frame.side_bytes() + extra;
    if (!is_at(place, "Xing") && !is_at(place, "Info")) continue;
    if ((bytes[place + 7] & std::byte{1}) != std::byte{}) start.told = big_endian_at(bytes, place + 8);
    start.is_read = start.told && extra == 0;
    return true;
  }
  if (!is_at(vbri_at, "VBRI")) return false;
  start.told = big_endian_at(bytes, vbri_at + vbri_frames);
  return true;
}

/// Makes a frame of zeros like those of a file, which are silence: of 64 kilobits a second, or of the fewest.
std::vector<std::byte> empty_frame(const Mp3Start& start, bool has_room) {
  constexpr std::byte kept{0x0c}, no_checksum{1};  // the rate is kept
  auto header = start.header;
  const unsigned kilobits = !has_room ? 1 : mp3_frame(header)->is_mpeg1 ? 5 : 8;
  header[1] |= no_checksum;
  header[2] = (header[2] & kept) | static_cast<std::byte>(kilobits << 4);
  std::vector<std::byte> bytes(mp3_frame(header)->size);
  std::ranges::copy(header, bytes.begin());
  return bytes;
}

}  // namespace

std::optional<Mp3Start> mp3_start(const ByteSource& file) {
  constexpr std::uint64_t most_other_bytes = 1 << 16;
  const auto from = behind_tags(file, 0);
  const auto found = find_mp3_frame(file, from, std::min(file.size_bytes(), from + most_other_bytes));
  if (!found) return {};
  Mp3Start start{.first = *found};
  const auto frame = mp3_frame_at(file, start.first);
  if (read_length(file, start.first, *frame, start)) start.first += frame->size;
  file.read_at(start.first, start.header);
  return mp3_frame(start.header) ? std::optional(start) : std::nullopt;
}

std::uint64_t count_mp3_frames(const ByteSource& file, const Mp3Start& start) {
  const auto like = mp3_frame(start.header);
  std::uint64_t frames = 0, at = start.first;
  while (at < file.size_bytes()) {
    const auto frame = mp3_frame_at(file, at);
    if (frame && frame->is_like(*like)) {
      if (at + frame->size > file.size_bytes()) break;  // the last one is cut off
      if (start.told && frames == *start.told)
        throw SampleError(concat("damaged MP3 file: at byte ", at, " more sound follows behind the ", frames,
                                 " frames that the header tells of: write a new one (ffmpeg -i IN -c copy OUT)"));
      ++frames;
      at += frame->size;
      continue;
    }
    const auto next = behind_tags(file, at);
    if (next == at) {
      const auto found = find_mp3_frame(file, at, file.size_bytes());
      if (!found) break;  // a tag, or what fills up a block
      throw SampleError(
          concat("damaged MP3 file: at byte ", at, " there are ", *found - at, " other bytes between two frames"));
    }
    at = next;
  }
  return frames;
}

std::vector<std::byte> mp3_header(const Mp3Start& start, std::uint64_t frames) {
  constexpr std::size_t decoder_delay = 529, lame_at = 12, delays_at = 21;  // behind "Xing", and behind "LAME"
  // One frame of silence follows, and decoders leave out as many samples: else they would leave out their own delay.
  auto bytes = empty_frame(start, true);
  const auto like = mp3_frame(bytes);
  const std::size_t left_out = (like->is_mpeg1 ? 1152 : 576) - decoder_delay;
  const auto silence = empty_frame(start, false);
  auto* const to = bytes.data() + mp3_header_bytes + like->side_bytes();
  std::memcpy(to, "Xing", 4);
  to[7] = std::byte{1};  // it tells the number of frames
  for (std::size_t i = 0; i < 4; ++i) to[8 + i] = static_cast<std::byte>((frames + 1) >> (24 - 8 * i));
  std::memcpy(to + lame_at, "LAME", 4);
  to[lame_at + delays_at] = static_cast<std::byte>(left_out >> 4);
  to[lame_at + delays_at + 1] = static_cast<std::byte>((left_out & 15) << 4 | decoder_delay >> 8);
  to[lame_at + delays_at + 2] = static_cast<std::byte>(decoder_delay & 255);
  bytes.insert(bytes.end(), silence.begin(), silence.end());
  return bytes;
}

}  // namespace flowtrain
