#include "pipeline/inference/evaluation/confusion_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace flowtrain {

namespace {

using Rgb = std::array<std::uint8_t, 3>;

// Digits of 3 × 5 pixels. Each row is three bits, the left one highest.
constexpr std::array<std::array<std::uint8_t, 5>, 10> glyphs{{{7, 5, 5, 5, 7},
                                                              {2, 6, 2, 2, 7},
                                                              {7, 1, 7, 4, 7},
                                                              {7, 1, 7, 1, 7},
                                                              {5, 5, 7, 1, 1},
                                                              {7, 4, 7, 1, 7},
                                                              {7, 4, 7, 5, 7},
                                                              {7, 1, 1, 1, 1},
                                                              {7, 5, 7, 5, 7},
                                                              {7, 5, 7, 1, 7}}};
constexpr int glyph_width = 3, glyph_height = 5, zoom = 2, advance = (glyph_width + 1) * zoom;

void fill(Image& image, int x, int y, int width, int height, const Rgb& color) {
  for (int row = std::max(y, 0); row < std::min(y + height, image.height); ++row)
    for (int column = std::max(x, 0); column < std::min(x + width, image.width); ++column)
      std::copy(color.begin(), color.end(), image.row(row) + std::ptrdiff_t{3} * column);
}

// Writes a number in the middle of a square.
void write_number(Image& image, int x, int y, int side, std::uint64_t number, const Rgb& color) {
  const std::string digits = std::to_string(number);
  x += (side - static_cast<int>(digits.size()) * advance + zoom) / 2;
  y += (side - glyph_height * zoom) / 2;
  for (const char digit : digits) {
    const auto& rows = glyphs.at(static_cast<std::size_t>(digit - '0'));
    for (int row = 0; row < glyph_height; ++row)
      for (int column = 0; column < glyph_width; ++column)
        if ((rows.at(static_cast<std::size_t>(row)) >> (glyph_width - 1 - column) & 1) != 0)
          fill(image, x + column * zoom, y + row * zoom, zoom, zoom, color);
    x += advance;
  }
}

// Returns a colour between white (0) and dark blue (1).
Rgb shade(double share) {
  const auto mixed = [&](double to) { return static_cast<std::uint8_t>(std::lround(255 + share * (to - 255))); };
  return {mixed(8), mixed(48), mixed(107)};
}

}  // namespace

Image confusion_picture(const ClassTable& table) {
  constexpr std::size_t most_with_numbers = 40;
  constexpr int most_side = 1024;
  constexpr Rgb black{0, 0, 0}, white{255, 255, 255};
  const std::size_t classes = table.classes.size();
  const auto most = table.counts.empty() ? 0 : *std::ranges::max_element(table.counts);
  const bool numbered = classes <= most_with_numbers;
  const int cell = numbered ? static_cast<int>(std::to_string(std::max<std::uint64_t>(most, 10)).size()) * advance + 8
                            : std::max(1, most_side / static_cast<int>(classes));
  const int margin = numbered ? cell : 0, side = margin + static_cast<int>(classes) * cell;
  Image image;
  image.reshape(side, side, 3);
  std::ranges::fill(image.pixels, 255);
  for (std::size_t label = 0; label < classes; ++label) {
    const int y = margin + static_cast<int>(label) * cell;
    double sum = 0;
    for (std::size_t prediction = 0; prediction < classes; ++prediction)
      sum += static_cast<double>(table.at(label, prediction));
    for (std::size_t prediction = 0; prediction < classes; ++prediction) {
      const int x = margin + static_cast<int>(prediction) * cell;
      const std::uint64_t count = table.at(label, prediction);
      const double share = sum > 0 ? static_cast<double>(count) / sum : 0;
      fill(image, x, y, cell, cell, shade(share));
      if (numbered && count > 0) write_number(image, x, y, cell, count, share > 0.5 ? white : black);
    }
    if (!numbered) continue;
    write_number(image, 0, y, cell, label, black);
    write_number(image, y, 0, cell, label, black);
  }
  return image;
}

}  // namespace flowtrain
