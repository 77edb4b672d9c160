#include "sampling/audio/wav.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

// Values of the field wFormatTag.
constexpr std::uint16_t wav_integers = 1, wav_floats = 3, wav_extensible = 0xfffe;
constexpr std::size_t chunk_header_bytes = 8, riff_header_bytes = 12;
constexpr int most_chunks = 256;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

std::string_view tag_at(std::span<const std::byte> bytes, std::size_t offset) {
  return {reinterpret_cast<const char*>(bytes.data()) + offset, 4};
}

/// Reads the chunk `fmt `. Returns nothing if the samples are packed in a way that is not read here.
std::optional<WavLayout> layout_of(std::span<const std::byte> format) {
  constexpr std::size_t least_bytes = 16, subformat = 24;
  if (format.size() < least_bytes) throw SampleError("damaged WAV header: its chunk 'fmt ' is too short");
  auto tag = number_at<std::uint16_t>(format, 0);
  if (tag == wav_extensible && format.size() >= subformat + 2) tag = number_at<std::uint16_t>(format, subformat);
  const std::uint32_t channels = number_at<std::uint16_t>(format, 2), rate = number_at<std::uint32_t>(format, 4),
                      frame_bytes = number_at<std::uint16_t>(format, 12), bits = number_at<std::uint16_t>(format, 14);
  if (tag != wav_integers && tag != wav_floats) return {};
  WavLayout layout{{0, channels, rate}, tag == wav_floats, channels == 0 ? 0 : frame_bytes / channels, 0};
  const auto bytes = layout.sample_bytes;
  if (bytes * channels != frame_bytes || (bits + 7) / 8 != bytes || bytes == 0 ||
      (layout.is_float ? bytes != 4 && bytes != 8 : bytes > 4))
    throw SampleError(
        concat("damaged WAV header: ", channels, " channels of ", bits, " bits in ", frame_bytes, " bytes a frame"));
  return layout;
}

/// Converts `count` stored numbers of one type.
template <class Stored, class Convert>
void convert_samples(std::span<const std::byte> stored, float* into, Convert convert) {
  const auto count = stored.size() / sizeof(Stored);
  for (std::size_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, stored.data() + i * sizeof(Stored), sizeof value);
    into[i] = convert(value);
  }
}

template <class Number>
void append_number(std::vector<std::byte>& bytes, Number number) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof number>>(number);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void append_tag(std::vector<std::byte>& bytes, std::string_view tag) {
  for (const char c : tag) bytes.push_back(static_cast<std::byte>(c));
}

/// The header of a chunk behind the samples.
struct LaterChunk {
  std::string name;  ///< empty: none begins there, with a name of printed characters
  std::uint64_t size_bytes = 0;
};

LaterChunk chunk_at(const ByteSource& file, std::uint64_t offset) {
  std::array<std::byte, chunk_header_bytes> header{};
  if (file.read_at(offset, header) < header.size()) return {};
  std::string name(tag_at(header, 0));
  if (!std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; })) return {};
  return {std::move(name), number_at<std::uint32_t>(header, 4)};
}

bool fits(const LaterChunk& chunk, const ByteSource& file, std::uint64_t offset) {
  return !chunk.name.empty() && chunk.size_bytes <= file.size_bytes() - offset - chunk_header_bytes;
}

/// Returns the place behind bytes that are all as the one there: padding, if there are many.
std::uint64_t end_of_padding(const ByteSource& file, std::uint64_t offset) {
  std::array<std::byte, 4096> block{};
  std::byte first{};
  for (bool is_begin = true; const auto size = file.read_at(offset, block); is_begin = false) {
    if (is_begin) first = block[0];
    const auto bytes = std::span(block).first(size);
    const auto other = std::ranges::find_if(bytes, [&](std::byte byte) { return byte != first; });
    offset += static_cast<std::uint64_t>(other - bytes.begin());
    if (other != bytes.end()) break;
  }
  return offset;
}

/// Throws SampleError for bytes behind the samples that may be sound. A chunk that is cut short, tags as MP3 files have
/// them, and XML are none.
void refuse_unnamed(const ByteSource& file, std::uint64_t offset, std::uint64_t promised) {
  const LaterChunk rest = chunk_at(file, offset);
  const bool is_named = !rest.name.empty() && std::ranges::all_of(rest.name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == ' ' || c == '_';
  });
  std::array<std::byte, 3> tag{};
  file.read_at(offset, tag);
  const std::string_view name(reinterpret_cast<const char*>(tag.data()), tag.size());
  if (is_named || name == "ID3" || name == "TAG" || name == "<?x") return;
  throw SampleError(concat("the header promises ", promised, " bytes of samples, but ", file.size_bytes() - offset,
                           " other bytes follow them"));
}

/// Throws SampleError if more sound follows the samples: in a chunk or a file of its own, or without a header.
void refuse_more_sound(const ByteSource& file, std::uint64_t offset, std::uint64_t promised) {
  constexpr std::uint64_t stray_bytes = 16;  // No one hears what so few bytes may hold.
  std::uint64_t size = promised;
  for (int chunks = 0; chunks < most_chunks; ++chunks) {
    offset += size;
    // Some writers leave out the byte that makes a size even.
    LaterChunk chunk = chunk_at(file, offset + (size & 1));
    if (fits(chunk, file, offset + (size & 1)))
      offset += size & 1;
    else if (size & 1)
      chunk = chunk_at(file, offset);
    if (chunk.name == "data") throw SampleError("damaged WAV file: a second chunk 'data' follows the first one");
    if (chunk.name == "RIFF" || chunk.name == "RF64")
      throw SampleError("damaged WAV file: a second WAV file follows the first one");
    if (fits(chunk, file, offset)) {
      offset += chunk_header_bytes;
      size = chunk.size_bytes;
      continue;
    }
    if (offset + stray_bytes > file.size_bytes()) return;
    const auto end = end_of_padding(file, offset);
    if (end == file.size_bytes()) return;
    if (end < offset + stray_bytes) return refuse_unnamed(file, offset, promised);
    offset = end;
    size = 0;
  }
}

}  // namespace

std::size_t FileRange::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset >= size_bytes_) return 0;
  return file_.read_at(offset_ + offset, into.first(std::min<std::uint64_t>(into.size(), size_bytes_ - offset)));
}

std::optional<WavLayout> wav_layout(const ByteSource& file) {
  // This size stands in files that were written to a pipe, as nobody knew the length. RF64 has it in another chunk.
  constexpr auto unknown_size = std::numeric_limits<std::uint32_t>::max();
  constexpr auto unknown_long_size = std::numeric_limits<std::uint64_t>::max();
  std::array<std::byte, 40> bytes{};  // the longest chunk 'fmt '
  const auto read = [&](std::uint64_t offset, std::size_t size) {
    return std::span<const std::byte>(bytes).first(file.read_at(offset, std::span(bytes).first(size)));
  };
  if (const auto riff = read(0, riff_header_bytes); riff.size() < riff_header_bytes ||
                                                    (tag_at(riff, 0) != "RIFF" && tag_at(riff, 0) != "RF64") ||
                                                    tag_at(riff, 8) != "WAVE")
    return {};
  std::optional<WavLayout> layout;
  bool is_packed = false;  // in a way that is not read here: A-law, ADPCM …
  std::optional<std::uint64_t> long_size;
  std::uint64_t offset = riff_header_bytes;
  for (int chunk = 0; chunk < most_chunks; ++chunk) {
    const auto header = read(offset, chunk_header_bytes);
    if (header.size() < chunk_header_bytes) break;
    const auto size = number_at<std::uint32_t>(header, 4);
    offset += chunk_header_bytes;
    if (tag_at(header, 0) == "fmt ") {
      layout = layout_of(read(offset, std::min<std::size_t>(size, bytes.size())));
      is_packed = !layout;
    } else if (tag_at(header, 0) == "ds64") {
      const auto sizes = read(offset, std::min<std::size_t>(size, bytes.size()));
      constexpr std::size_t place = 8;  // behind that of the file
      if (sizes.size() >= place + sizeof(std::uint64_t)) long_size = number_at<std::uint64_t>(sizes, place);
    } else if (tag_at(header, 0) == "data") {
      if (!layout && !is_packed) throw SampleError("damaged WAV header: no chunk 'fmt ' before the samples");
      const auto there = file.size_bytes() - std::min(offset, file.size_bytes());
      // A writer that was stopped leaves the 0 that it began with.
      const bool is_known = size != unknown_size && (size > 0 || fits(chunk_at(file, offset), file, offset));
      const auto promised = is_known ? std::uint64_t{size} : long_size.value_or(there);
      const bool is_short = promised > there && promised != unknown_long_size;
      if (promised < there) refuse_more_sound(file, offset, promised);
      if (!layout) {
        if (is_short)
          throw SampleError(concat("the header promises ", promised, " bytes of samples, but the file holds ", there));
        return {};
      }
      const auto frame_bytes = layout->frame_bytes();
      if (is_short)
        throw SampleError(concat("the header promises ", promised / frame_bytes, " frames, but the file holds ",
                                 there / frame_bytes));
      layout->form.frames = std::min(promised, there) / frame_bytes;
      layout->data_offset = offset;
      return layout;
    }
    offset += std::uint64_t{size} + (size & 1);  // 2^32 would be a step of 0
  }
  throw SampleError("damaged WAV header: no chunk 'data'");
}

void decode_samples(const WavLayout& layout, std::span<const std::byte> stored, std::vector<float>& into) {
  const auto count = stored.size() / layout.sample_bytes;
  into.resize(count);
  if (layout.is_float) {
    if (layout.sample_bytes == 4)
      std::memcpy(into.data(), stored.data(), count * sizeof(float));
    else
      convert_samples<double>(stored, into.data(), [](double value) { return static_cast<float>(value); });
    return check_finite(into, layout.form.channels);
  }
  switch (layout.sample_bytes) {
    case 1:
      return convert_samples<std::uint8_t>(stored, into.data(),
                                           [](std::uint8_t value) { return (float(value) - 128) * 0x1p-7f; });
    case 2:
      return convert_samples<std::int16_t>(stored, into.data(),
                                           [](std::int16_t value) { return float(value) * 0x1p-15f; });
    case 3:
      return convert_samples<std::array<std::uint8_t, 3>>(stored, into.data(), [](const auto& value) {
        const auto high = std::uint32_t{value[0]} << 8 | std::uint32_t{value[1]} << 16 | std::uint32_t{value[2]} << 24;
        return float(static_cast<std::int32_t>(high)) * 0x1p-31f;
      });
    default:
      return convert_samples<std::int32_t>(stored, into.data(),
                                           [](std::int32_t value) { return float(value) * 0x1p-31f; });
  }
}

void check_finite(std::span<const float> samples, std::uint32_t channels) {
  constexpr std::uint32_t exponent = 0x7f800000;  // all bits of it are set in infinities and NaN alone
  std::uint32_t most = 0;
  for (const float sample : samples) most = std::max(most, std::bit_cast<std::uint32_t>(sample) & exponent);
  if (most != exponent) return;
  const auto found = std::ranges::find_if(samples, [](float sample) { return !std::isfinite(sample); });
  throw SampleError(concat("frame ", (found - samples.begin()) / channels, " holds ",
                           std::isnan(*found) ? "NaN" : "an infinite value"));
}

std::size_t begin_wav(const WavLayout& layout, std::vector<std::byte>& into) {
  constexpr std::uint32_t format_bytes = 16, header_bytes = 44;
  const auto data_bytes = layout.form.frames * layout.frame_bytes();
  if (data_bytes > max_sample_bytes)
    throw SampleError(concat(layout.form.frames, " frames are more than a sample may have (1 GiB)"));
  into.clear();
  append_tag(into, "RIFF");
  append_number(into, static_cast<std::uint32_t>(header_bytes - chunk_header_bytes + data_bytes + (data_bytes & 1)));
  append_tag(into, "WAVEfmt ");
  append_number(into, format_bytes);
  append_number(into, layout.is_float ? wav_floats : wav_integers);
  append_number(into, static_cast<std::uint16_t>(layout.form.channels));
  append_number(into, layout.form.rate);
  append_number(into, layout.form.rate * layout.frame_bytes());
  append_number(into, static_cast<std::uint16_t>(layout.frame_bytes()));
  append_number(into, static_cast<std::uint16_t>(layout.sample_bytes * 8));
  append_tag(into, "data");
  append_number(into, static_cast<std::uint32_t>(data_bytes));
  into.resize(header_bytes + data_bytes + (data_bytes & 1));
  return header_bytes;
}

}  // namespace flowtrain
