// The draws that mix and erase batches.

#include "sampling/images/mix.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sampling/batches.h"

namespace flowtrain::mix_test {

namespace {

constexpr PictureShape shape{32, 48, 3};

BatchMix drawn(const Mixing& mixing, std::uint64_t number, std::uint64_t first = 0, std::size_t rows = 8) {
  BatchMix mix;
  mixing.draw(7, number, first, rows, shape, mix);
  return mix;
}

double area(const PixelBox& box) { return static_cast<double>(box.right - box.left) * (box.bottom - box.top); }

bool equal(const PixelBox& a, const PixelBox& b) {
  return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom;
}

}  // namespace

TEST_CASE("mixup's weights are a Beta distribution's: mean 1/2, variance 1 / (4 (2 alpha + 1)), both ends reached") {
  for (const double alpha : {1e-3, 0.2, 1.0, 8.0}) {
    CAPTURE(alpha);
    const int count = 20'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      const BatchMix mix = drawn({.mixup = alpha}, static_cast<std::uint64_t>(i), 0, 1);
      REQUIRE(mix.kind == BatchMix::Kind::mixup);
      REQUIRE(mix.own >= 0);
      REQUIRE(mix.own <= 1);
      sum += mix.own;
      squares += (mix.own - 0.5) * (mix.own - 0.5);
    }
    CHECK(std::abs(sum / count - 0.5) < 0.015);
    CHECK(squares / count == doctest::Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.05));
  }
}

TEST_CASE("cutmix's box lies in the picture, and the weight of a row's own label is what is left of it") {
  double cut = 0;
  const int count = 5'000;
  for (int i = 0; i < count; ++i) {
    const BatchMix mix = drawn({.cutmix = 1}, static_cast<std::uint64_t>(i));
    REQUIRE(mix.kind == BatchMix::Kind::cutmix);
    REQUIRE(mix.cut.left >= 0);
    REQUIRE(mix.cut.top >= 0);
    REQUIRE(mix.cut.left <= mix.cut.right);
    REQUIRE(mix.cut.top <= mix.cut.bottom);
    REQUIRE(mix.cut.right <= shape.width);
    REQUIRE(mix.cut.bottom <= shape.height);
    REQUIRE(mix.own == 1 - area(mix.cut) / (shape.width * shape.height));
    REQUIRE(mix.pixels().own == 1);
    cut += 1 - mix.own;
  }
  // A uniform share a, of which at the edges falls away: E((√a - a/4)²) = 1/2 - 1/5 + 1/48, sides rounded down to even.
  CHECK(cut / count == doctest::Approx(0.3208).epsilon(0.1));
}

TEST_CASE("of two that are on one is drawn, and not every batch is mixed") {
  int none = 0, mixups = 0, cuts = 0;
  for (std::uint64_t i = 0; i < 4'000; ++i) {
    const auto kind = drawn({.mixup = 0.2, .cutmix = 1, .prob = 0.75, .switch_prob = 0.25}, i, 0, 1).kind;
    ++(kind == BatchMix::Kind::none ? none : kind == BatchMix::Kind::mixup ? mixups : cuts);
  }
  CHECK(none == doctest::Approx(1000).epsilon(0.1));
  CHECK(mixups == doctest::Approx(2250).epsilon(0.1));
  CHECK(cuts == doctest::Approx(750).epsilon(0.1));
  CHECK(drawn({.mixup = 1, .prob = 0}, 1).kind == BatchMix::Kind::none);
  CHECK_FALSE(Mixing{.mixup = 1, .prob = 0}.any());
  CHECK_FALSE(Mixing{}.any());
}

TEST_CASE("erased boxes keep within the picture and within their share and shape") {
  const Mixing mixing{.erase = {.prob = 0.6, .scale = {0.05, 0.2}, .ratio = {0.5, 2}}};
  int erased = 0;
  const int count = 20'000;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const BatchMix mix = drawn(mixing, 0, static_cast<std::uint64_t>(i), 1);
    const PixelBox box = mix.rows[0].erased;
    CHECK(mix.kind == BatchMix::Kind::none);
    if (box.left == box.right) continue;
    ++erased;
    const double height = box.bottom - box.top, width = box.right - box.left;
    REQUIRE(box.left >= 0);
    REQUIRE(box.top >= 0);
    REQUIRE(box.right <= shape.width);
    REQUIRE(box.bottom <= shape.height);
    // Each side is rounded to a pixel: half a one off at most.
    REQUIRE((height + 0.5) * (width + 0.5) >= 0.05 * shape.height * shape.width);
    REQUIRE((height - 0.5) * (width - 0.5) <= 0.2 * shape.height * shape.width);
    REQUIRE((height + 0.5) / (width - 0.5) >= 0.5);
    REQUIRE((height - 0.5) / (width + 0.5) <= 2);
    sum += area(box) / (shape.height * shape.width);
  }
  CHECK(erased == doctest::Approx(0.6 * count).epsilon(0.03));
  CHECK(sum / erased == doctest::Approx(0.125).epsilon(0.03));
  CHECK(drawn({.erase = {.prob = 1, .scale = {1, 1}}}, 0).rows[0].erased.right == 0);  // ten attempts, none fits
}

TEST_CASE("a batch of several processes is drawn as that of one, and partners are held by the same one") {
  const Mixing mixing{.mixup = 0.2, .cutmix = 1, .erase = {.prob = 0.5, .noise = true}};
  constexpr std::uint64_t batch = 48;
  for (const std::uint64_t number : {0ULL, 5ULL, 1'000'000'000'000ULL}) {
    const BatchMix whole = drawn(mixing, number, number * batch, batch);
    for (const std::uint64_t world : {1, 2, 3, 4, 5, 7, 48}) {
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const Slice slice{rank, world};
        const std::uint64_t begin = slice.begin(batch), rows = slice.rows(batch);
        const BatchMix part = drawn(mixing, number, number * batch + begin, rows);
        CHECK(part.kind == whole.kind);
        CHECK(part.own == whole.own);
        CHECK(equal(part.cut, whole.cut));
        for (std::uint64_t row = 0; row < rows; ++row) {
          const RowMix &own = part.rows[row], &same = whole.rows[begin + row];
          CHECK(equal(own.erased, same.erased));
          CHECK(own.noise == same.noise);
          CHECK(own.partner >= 0);
          CHECK(static_cast<std::uint64_t>(own.partner) < rows);
          CHECK((rows == 1 || static_cast<std::uint64_t>(own.partner) != row));
          const bool even = begin % 2 == 0 && rows % 2 == 0;
          if (even) CHECK(begin + static_cast<std::uint64_t>(own.partner) == static_cast<std::uint64_t>(same.partner));
        }
      }
    }
  }
}

TEST_CASE("batches and seeds differ, and what is drawn can be told") {
  std::set<double> weights;
  for (std::uint64_t i = 0; i < 100; ++i) weights.insert(drawn({.mixup = 1}, i).own);
  CHECK(weights.size() == 100);
  BatchMix other;
  Mixing{.mixup = 1}.draw(8, 0, 0, 8, shape, other);
  CHECK(other.own != drawn({.mixup = 1}, 0).own);

  BatchMix mix;
  CHECK(describe(mix) == "");
  CHECK(describe(PixelBox{}) == "");
  mix.kind = BatchMix::Kind::mixup;
  mix.own = 0.25;
  CHECK(describe(mix) == "mixup 0.25");
  mix.kind = BatchMix::Kind::cutmix;
  mix.cut = {1, 2, 30, 4};
  CHECK(describe(mix) == "cutmix 0.25, columns 1 to 30 of lines 2 to 4");
}

namespace {

using Pixel = std::array<double, 3>;

Pixel changed(const ColorFactors& factors, const Pixel& pixel, double grey) {
  const Tint tint = tint_of(factors);
  Pixel out{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t from = 0; from < 3; ++from) out[c] += static_cast<double>(tint.m[c][from]) * pixel[from];
    out[c] += static_cast<double>(tint.lift) * grey;
  }
  return out;
}

double grey_of(const Pixel& pixel) { return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]; }

void check_near(const Pixel& got, const Pixel& want) {
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(got[c] - want[c]) < 1e-3);
}

}  // namespace

TEST_CASE("colours change as brightness, contrast, saturation and hue are defined") {
  const Pixel pixel{200, 90, 40};
  const double mean = 110, grey = grey_of(pixel);
  check_near(changed({}, pixel, mean), pixel);
  check_near(changed({.brightness = 0.5}, pixel, mean), {100, 45, 20});
  check_near(changed({.contrast = 0.25}, pixel, mean),
             {0.25 * 200 + 0.75 * mean, 0.25 * 90 + 0.75 * mean, 0.25 * 40 + 0.75 * mean});
  check_near(changed({.saturation = 0}, pixel, mean), {grey, grey, grey});
  check_near(changed({.saturation = 1.5}, pixel, mean),
             {1.5 * 200 - 0.5 * grey, 1.5 * 90 - 0.5 * grey, 1.5 * 40 - 0.5 * grey});
  // A full turn, in thirds, comes home; each keeps the grey level, and greys keep all.
  Pixel turned = pixel;
  for (int third = 0; third < 3; ++third) {
    turned = changed({.hue = 1. / 3}, turned, mean);
    CHECK(std::abs(grey_of(turned) - grey) < 1e-3);
  }
  check_near(turned, pixel);
  check_near(changed({.hue = 0.3}, {77, 77, 77}, mean), {77, 77, 77});
  // All at once are the same as one after the other; brightness first changes the mean.
  const Pixel steps =
      changed({.hue = 0.1},
              changed({.saturation = 1.3},
                      changed({.contrast = 0.8}, changed({.brightness = 1.2}, pixel, mean), 1.2 * mean), mean),
              mean);
  check_near(changed({.brightness = 1.2, .contrast = 0.8, .saturation = 1.3, .hue = 0.1}, pixel, mean), steps);
  CHECK(describe(ColorFactors{1.25, 0.5, 1, -0.125}) == "brightness 1.25, contrast 0.5, saturation 1, hue -0.125");
}

TEST_CASE("factors of colours are drawn from their ranges, for as many pictures as asked") {
  const Mixing mixing{.color = {.prob = 0.5, .brightness = 0.4, .contrast = 2, .saturation = 0.2, .hue = 0.1}};
  int unchanged = 0;
  double least = 9, most = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    const BatchMix mix = drawn(mixing, 0, i, 1);
    REQUIRE(mix.tints);
    const ColorFactors& factors = mix.colors.at(0);
    REQUIRE(std::abs(factors.brightness - 1) <= 0.4);
    REQUIRE(factors.contrast >= 0);
    REQUIRE(factors.contrast <= 3);
    REQUIRE(std::abs(factors.saturation - 1) <= 0.2);
    REQUIRE(std::abs(factors.hue) <= 0.1);
    least = std::min(least, factors.brightness), most = std::max(most, factors.brightness);
    unchanged += factors.brightness == 1 && factors.hue == 0;
  }
  CHECK(unchanged == doctest::Approx(1'000).epsilon(0.1));
  CHECK(least < 0.62);
  CHECK(most > 1.38);
  CHECK_FALSE(Mixing{.color = {.prob = 1}}.any());
  CHECK_FALSE(Mixing{.color = {.prob = 0, .hue = 0.1}}.any());
}

}  // namespace flowtrain::mix_test
