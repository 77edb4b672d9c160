#include "sampling/audio/ogg.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

// The places of a page's numbers, from its begin.
constexpr std::size_t ogg_header_bytes = 27, ogg_flags_at = 5, ogg_serial_at = 14, ogg_number_at = 18,
                      ogg_checksum_at = 22, ogg_segments_at = 26;
constexpr unsigned ogg_first_page = 2, ogg_last_page = 4;  // flags

/// The remainders of all bytes for the polynomial 0x04c11db7, the highest bit first.
constexpr auto ogg_remainders = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte << 24;
    for (int bit = 0; bit < 8; ++bit) rest = rest << 1 ^ (rest >> 31 ? 0x04c11db7u : 0u);
    table[byte] = rest;
  }
  return table;
}();

std::uint32_t ogg_checksum(std::uint32_t sum, std::span<const std::byte> bytes) {
  for (const auto byte : bytes) sum = sum << 8 ^ ogg_remainders[sum >> 24 ^ std::to_integer<std::uint32_t>(byte)];
  return sum;
}

std::uint32_t ogg_word(std::span<const std::byte> page, std::size_t at) {
  std::uint32_t word;
  std::memcpy(&word, page.data() + at, sizeof word);
  return word;
}

bool begins_ogg_page(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "OggS", 4) == 0;
}

/// Returns the page that begins here, or as much of it as is there.
std::span<const std::byte> ogg_page_at(std::span<const std::byte> bytes) {
  if (bytes.size() < ogg_header_bytes) return bytes;
  std::size_t size = ogg_header_bytes + std::to_integer<std::size_t>(bytes[ogg_segments_at]);
  if (bytes.size() < size) return bytes;
  for (const auto segment : bytes.subspan(ogg_header_bytes, size - ogg_header_bytes))
    size += std::to_integer<std::size_t>(segment);
  return bytes.first(std::min(size, bytes.size()));
}

bool is_whole_ogg_page(std::span<const std::byte> page) {
  if (page.size() < ogg_header_bytes) return false;  // the checksum is that of the page with zeros in its place
  const std::array<std::byte, sizeof(std::uint32_t)> zeros{};
  auto sum = ogg_checksum(0, page.first(ogg_checksum_at));
  sum = ogg_checksum(sum, zeros);
  return ogg_checksum(sum, page.subspan(ogg_checksum_at + zeros.size())) == ogg_word(page, ogg_checksum_at);
}

}  // namespace

void check_ogg_pages(std::span<const std::byte> file) {
  std::map<std::uint32_t, std::uint32_t> next;  // the number of the next page of each stream that has not ended
  for (std::size_t at = 0; at < file.size();) {
    const auto rest = file.subspan(at);
    if (!begins_ogg_page(rest) && next.empty()) return;  // a tag, or what fills up a block
    const auto page = ogg_page_at(rest);
    if (!begins_ogg_page(rest) || !is_whole_ogg_page(page))
      throw SampleError(concat("damaged Ogg file: the page at byte ", at,
                               !begins_ogg_page(rest) || page.size() == rest.size()
                                   ? " is cut off, or other bytes are in its place"
                                   : " does not have the bytes of its checksum"));
    const auto serial = ogg_word(page, ogg_serial_at), number = ogg_word(page, ogg_number_at);
    const auto flags = std::to_integer<unsigned>(page[ogg_flags_at]);
    if (next.empty() && at > 0)
      throw SampleError(concat("at byte ", at, " a second Ogg stream follows, and only the first one would be read: ",
                               "write them as files of their own"));
    const auto expected = next.find(serial);
    if (expected != next.end() && !(flags & ogg_first_page) && number != expected->second)
      throw SampleError(concat("damaged Ogg file: at byte ", at, " there is page ", number, " of a stream, but page ",
                               expected->second, " should follow"));
    if (flags & ogg_last_page)
      next.erase(serial);
    else
      next[serial] = number + 1;
    at += page.size();
  }
}

}  // namespace flowtrain
