#pragma once
// The work of the targets of picture files.

#include <cstdint>
#include <span>

#include "sampling/codecs/picture_reader.h"
#include "tests/fuzz/support/fuzz_target.h"

/// The whole picture, or a part of it at some scale: the input's last bytes decide.
inline void read_picture(flowtrain::PictureReader& reader, std::span<const std::byte> input) {
  reader.orientation();
  std::uint32_t choice = 0;
  for (const auto byte : input.last(input.size() < 5 ? input.size() : 5))
    choice = choice * 31 + std::to_integer<std::uint32_t>(byte);
  const auto below = [&](int end) {
    choice = choice * 1664525 + 1013904223;
    return static_cast<int>((choice >> 8) % static_cast<std::uint32_t>(end));
  };
  flowtrain::Image image;
  int divisor = 1;
  while (divisor < reader.largest_divisor() && below(2) == 0) divisor *= 2;
  const int height = (reader.height() + divisor - 1) / divisor, width = (reader.width() + divisor - 1) / divisor;
  flowtrain::Window part{0, 0, height, width};
  if (below(4) > 0) {
    part.x = below(width);
    part.y = below(height);
    part.width = 1 + below(width - part.x);
    part.height = 1 + below(height - part.y);
  }
  reader.read(part, divisor, image);
}
