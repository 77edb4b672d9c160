// Bytes of a batch to what a net sees: the vectors against one value after the other.

#include "sampling/images/finish.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "sampling/core/random.h"
#include "sampling/images/mix.h"

namespace flowtrain::finish_test {

namespace {

const std::vector<float> means{0.485f, 0.456f, 0.406f, 0.5f}, deviations{0.229f, 0.224f, 0.225f, 0.25f};

struct Batch {
  PictureShape shape;
  std::int64_t rows;
  std::vector<std::uint8_t> bytes;

  std::size_t values() const {
    return static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width) *
           static_cast<std::size_t>(shape.channels);
  }
};

Batch made(PictureShape shape, std::int64_t rows) {
  Batch batch{shape, rows, {}};
  Stream random(3, Purpose::sample, 0);
  batch.bytes.resize(static_cast<std::size_t>(rows) * batch.values());
  for (auto& byte : batch.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return batch;
}

PixelRule rule_of(int channels) {
  const auto count = static_cast<std::ptrdiff_t>(channels);
  return normalising({means.begin(), means.begin() + count}, {deviations.begin(), deviations.begin() + count});
}

std::uint8_t tinted(const Batch& batch, const PixelMix& mix, std::int64_t row, int x, int y, int c) {
  const std::uint8_t* pixel =
      &batch.bytes[static_cast<std::size_t>(row) * batch.values() +
                   static_cast<std::size_t>((y * batch.shape.width + x) * batch.shape.channels)];
  if (!mix.tints) return pixel[c];
  const Tint& tint = mix.rows[row].tint;
  const float red = tint.m[c][0] * pixel[0], green = tint.m[c][1] * pixel[1], blue = tint.m[c][2] * pixel[2];
  float level = red + green;
  level = level + blue;
  const float lift = tint.lift * mix.grey[row];
  return static_cast<std::uint8_t>(std::nearbyint(std::clamp(level + lift, 0.0f, 255.0f)));
}

bool inside(const PixelBox& box, int x, int y) {
  return x >= box.left && x < box.right && y >= box.top && y < box.bottom;
}

/// One value, as the headers say it.
float plain(const Batch& batch, const PixelRule& rule, const PixelMix& mix, std::int64_t row, int x, int y, int c) {
  const auto channel = static_cast<std::size_t>(c);
  const auto index = static_cast<std::uint64_t>((y * batch.shape.width + x) * batch.shape.channels + c);
  std::uint8_t byte = tinted(batch, mix, row, x, y, c);
  if (inside(mix.rows[row].erased, x, y)) {
    if (!mix.noise) return rule.fill[channel];
    byte = static_cast<std::uint8_t>(mix64(mix.rows[row].noise + noise_step * (index / 8 + 1)) >> (index % 8 * 8));
  }
  const float product = static_cast<float>(byte) * rule.scale[channel];
  return product + rule.shift[channel];
}

float mixed(const Batch& batch, const PixelRule& rule, const PixelMix& mix, std::int64_t row, int x, int y, int c) {
  const float own = plain(batch, rule, mix, row, x, y, c),
              other = plain(batch, rule, mix, mix.rows[row].partner, x, y, c);
  if (inside(mix.cut, x, y)) return other;
  if (mix.own == 1) return own;
  const float share = mix.own * own, rest = (1 - mix.own) * other;
  return share + rest;
}

/// How many values differ from the reference, by bits.
std::size_t wrong(const Batch& batch, const PixelRule& rule, const PixelMix* mix, bool planar) {
  std::vector<RowMix> nothing(static_cast<std::size_t>(batch.rows));
  const PixelMix reference = mix ? *mix : PixelMix{nothing.data()};
  std::vector<float> got(batch.bytes.size(), NAN);
  const auto [height, width, channels] = batch.shape;
  const PictureFinisher finish(batch.shape, rule, planar), of_larger({height + 2, width + 5, channels}, rule, planar);
  for (std::int64_t row = 0; row < batch.rows; ++row)  // in parts, as threads do it
    finish({batch.bytes.data(), batch.shape, mix}, row, row + 1, got.data());
  std::vector<float> again(got.size(), NAN);
  of_larger({batch.bytes.data(), batch.shape, mix}, 0, batch.rows, again.data());
  std::size_t count = std::memcmp(again.data(), got.data(), got.size() * sizeof(float)) != 0;
  const float* at = got.data();
  const auto check = [&](std::int64_t row, int x, int y, int c) {
    const float want = mixed(batch, rule, reference, row, x, y, c);
    count += std::memcmp(at++, &want, sizeof want) != 0;
  };
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    if (planar) {
      for (int c = 0; c < channels; ++c)
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) check(row, x, y, c);
    } else {
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
          for (int c = 0; c < channels; ++c) check(row, x, y, c);
    }
  }
  return count;
}

}  // namespace

TEST_CASE("normalised, erased and mixed as one value after the other would be, bit for bit") {
  for (const int channels : {1, 2, 3, 4})
    for (const auto& [height, width] : {std::pair{1, 1}, std::pair{5, 7}, std::pair{16, 33}, std::pair{28, 100}})
      for (const bool planar : {false, true}) {
        CAPTURE(channels);
        CAPTURE(width);
        CAPTURE(planar);
        const Batch batch = made({height, width, channels}, 5);
        const PixelRule rule = rule_of(channels);
        CHECK(wrong(batch, rule, nullptr, planar) == 0);
        for (const Mixing& mixing :
             {Mixing{.mixup = 0.4}, Mixing{.cutmix = 1}, Mixing{.erase = {.prob = 1}},
              Mixing{.mixup = 1, .erase = {.prob = 0.7, .noise = true}},
              Mixing{.cutmix = 1, .erase = {.prob = 0.7, .noise = true}}, Mixing{.cutmix = 1, .erase = {.prob = 0.7}}})
          for (std::uint64_t number = 0; number < 8; ++number) {
            BatchMix drawn;
            mixing.draw(1, number, number * 5, 5, batch.shape, drawn);
            const PixelMix mix = drawn.pixels();
            CHECK(wrong(batch, rule, &mix, planar) == 0);
          }
        if (channels != 3) continue;
        std::vector<float> grey(5);
        measure_grey(batch.bytes.data(), 0, 5, batch.shape, grey.data());
        const ColorJitter jitter{.brightness = 0.6, .contrast = 0.6, .saturation = 0.6, .hue = 0.2};
        for (const Mixing& mixing :
             {Mixing{.color = jitter}, Mixing{.mixup = 1, .erase = {.prob = 0.7}, .color = jitter},
              Mixing{.cutmix = 1, .erase = {.prob = 0.7, .noise = true}, .color = jitter}}) {
          BatchMix drawn;
          mixing.draw(1, 3, 15, 5, batch.shape, drawn);
          PixelMix mix = drawn.pixels();
          CHECK(mix.tints);
          mix.grey = grey.data();
          CHECK(wrong(batch, rule, &mix, planar) == 0);
        }
      }
}

TEST_CASE("the rule is (x / 255 - mean) / stddev, and the mean is 0") {
  const PixelRule rule = rule_of(3);
  for (int byte = 0; byte < 256; ++byte)
    for (std::size_t c = 0; c < 3; ++c) {
      const double expected = (byte / 255.0 - means[c]) / deviations[c];
      CHECK(static_cast<double>(static_cast<float>(byte) * rule.scale[c] + rule.shift[c]) ==
            doctest::Approx(expected).epsilon(1e-5));
    }
  CHECK(rule.fill == std::vector<float>{0, 0, 0});
}

TEST_CASE("a picture's mean grey level is that of all its pixels") {
  for (const auto& [height, width] : {std::pair{1, 1}, std::pair{3, 5}, std::pair{64, 67}}) {
    const Batch batch = made({height, width, 3}, 2);
    float grey[2] = {};
    measure_grey(batch.bytes.data(), 0, 2, batch.shape, grey);
    for (std::size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < batch.values(); ++i)
        sum += (i % 3 == 0 ? 0.299 : i % 3 == 1 ? 0.587 : 0.114) * batch.bytes[row * batch.values() + i];
      CHECK(static_cast<double>(grey[row]) == doctest::Approx(sum / (height * width)).epsilon(1e-6));
    }
  }
}

}  // namespace flowtrain::finish_test
