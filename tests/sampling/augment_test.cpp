#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/images/augment.h"
#include "tests/support/pictures.h"

namespace flowtrain::augment_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// 4 x 5 pixels, from the same formula as the pictures that Pillow was given.
Bytes colours() {
  Bytes bytes;
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x)
      for (int c = 0; c < 3; ++c)
        bytes.push_back(static_cast<std::uint8_t>((x * 50 + y * 7 + c * 31 + x * y * c * 13) % 256));
  return bytes;
}

Bytes greys() {
  Bytes bytes;
  const Bytes all = colours();
  for (std::size_t i = 0; i < all.size(); i += 3) bytes.push_back(all[i]);
  return bytes;
}

/// The largest difference between what `change` makes of the colours and the expected bytes.
template <class Change>
int difference(Change change, const Bytes& expected) {
  Bytes ours = colours();
  change(Pixels{ours.data(), 4, 5, 3});
  REQUIRE(ours.size() == expected.size());
  int most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) most = std::max(most, std::abs(ours[i] - expected[i]));
  return most;
}

Bytes warped(const AffineMap& map, Sampling sampling = Sampling::nearest) {
  const Bytes from = greys();
  Bytes to(from.size());
  warp({from.data(), 4, 5, 1, 5}, map, sampling, to.data());
  return to;
}

}  // namespace

TEST_CASE("levels: as Pillow 13.0 changes them") {
  using P = const Pixels&;
  CHECK(difference([](P p) { posterize(p, 3); },
                   {0,   0,  32,  32,  64,  96,  96, 128, 160, 128, 160, 192, 192, 224, 0,   0,   32,  64,  32,  96,
                    128, 96, 160, 192, 128, 224, 32, 192, 32,  96,  0,   32,  64,  64,  96,  160, 96,  192, 0,   160,
                    0,   96, 192, 64,  224, 0,   32, 64,  64,  128, 192, 96,  224, 64,  160, 32,  192, 192, 128, 64}) ==
        0);
  CHECK(difference([](P p) { solarize(p, 100); },
                   {0,   31,  62, 50, 81, 143, 155, 124, 93, 105, 74, 43,  55, 24, 6,   7,  38,  69, 57,  154,
                    110, 148, 91, 34, 98, 28,  41,  48,  34, 138, 14, 45,  76, 64, 134, 77, 141, 58, 24,  91,
                    17,  129, 41, 93, 27, 21,  52,  83,  71, 114, 44, 134, 25, 83, 84,  63, 44,  34, 103, 83}) == 0);
  CHECK(difference(
            [](P p) { autocontrast(p); },
            {0,   16,  64,  57,  76,  121, 115, 135, 179, 173, 195, 236, 230, 255, 0,   8,   25,  72,  65,  100,
             159, 123, 175, 246, 181, 250, 40,  238, 20,  127, 16,  33,  80,  73,  123, 197, 131, 214, 20,  189,
             0,   137, 246, 90,  254, 24,  41,  88,  81,  147, 235, 139, 253, 88,  197, 54,  235, 254, 160, 88}) <= 1);
  CHECK(difference([](P p) { equalize(p); }, {0,  31, 62, 50, 81,  112, 100, 131, 162, 150, 181, 212, 200, 231, 6,
                                              7,  38, 69, 57, 101, 145, 107, 164, 221, 157, 227, 41,  207, 34,  117,
                                              14, 45, 76, 64, 121, 178, 114, 197, 24,  164, 17,  126, 214, 93,  228,
                                              21, 52, 83, 71, 141, 211, 121, 230, 83,  171, 63,  211, 221, 152, 83}) ==
        0);
  CHECK(difference(
            [](P p) { change_sharpness(p, 1.7); },
            {0,   31,  62,  50,  81,  112, 100, 131, 162, 150, 181, 212, 200, 231, 6,   7,   38,  69,  57,  101,
             159, 107, 178, 255, 157, 255, 0,   207, 34,  117, 14,  45,  76,  64,  121, 205, 114, 224, 0,   164,
             0,   126, 214, 93,  228, 21,  52,  83,  71,  141, 211, 121, 230, 83,  171, 63,  211, 221, 152, 83}) <= 1);
  CHECK(difference(
            [](P p) { change_sharpness(p, 0.2); },
            {0,   31,  62,  50,  81,  112, 100, 131, 162, 150, 181, 212, 200, 231, 6,   7,   38,  69,  57,  101,
             129, 107, 148, 173, 157, 179, 88,  207, 34,  117, 14,  45,  76,  64,  121, 146, 114, 165, 87,  164,
             80,  126, 214, 93,  228, 21,  52,  83,  71,  141, 211, 121, 230, 83,  171, 63,  211, 221, 152, 83}) <= 1);
  CHECK(difference(
            [](P p) { change_brightness(p, 1.3); },
            {0,   40,  80,  65,  105, 145, 130, 170, 210, 195, 235, 255, 255, 255, 7,   9,   49,  89,  74,  131,
             188, 139, 213, 255, 204, 255, 53,  255, 44,  152, 18,  58,  98,  83,  157, 231, 148, 255, 31,  213,
             22,  163, 255, 120, 255, 27,  67,  107, 92,  183, 255, 157, 255, 107, 222, 81,  255, 255, 197, 107}) <= 1);
  CHECK(difference(
            [](P p) { change_contrast(p, 0.5); },
            {57,  73,  88,  82,  98,  113, 107, 123, 138, 132, 148, 163, 157, 173, 60,  61,  76,  92,  86,  108,
             130, 111, 139, 168, 136, 171, 78,  161, 74,  116, 64,  80,  95,  89,  118, 146, 114, 156, 69,  139,
             66,  120, 164, 104, 171, 68,  83,  99,  93,  128, 163, 118, 172, 99,  143, 89,  163, 168, 133, 99}) <= 1);
  CHECK(difference(
            [](P p) { change_saturation(p, 1.6); },
            {0,   34,  84,  35,  84,  134, 85, 134, 184, 135, 184, 234, 202, 252, 0,   0,   41,  91,  35,  105,
             176, 79,  170, 255, 140, 252, 0,  255, 0,   130, 0,   48,  98,  36,  127, 218, 91,  224, 0,   218,
             0,   157, 255, 61,  255, 6,   55, 105, 36,  148, 255, 85,  255, 24,  206, 33,  255, 254, 144, 33}) <= 1);
  Bytes ramp;
  for (int i = 0; i < 900; ++i) ramp.push_back(static_cast<std::uint8_t>((i % 30 * 9 + i / 30 * 7) % 256));
  equalize({ramp.data(), 30, 30, 1});
  CHECK(Bytes(ramp.begin(), ramp.begin() + 8) == Bytes{0, 11, 21, 32, 43, 53, 64, 75});
}

TEST_CASE("levels: flat and tiny pictures") {
  for (const int size : {1, 2, 7}) {
    Bytes flat(static_cast<std::size_t>(size * size * 3), 90);
    const Pixels pixels{flat.data(), size, size, 3};
    autocontrast(pixels), equalize(pixels), make_grey(pixels), blur(pixels, 1.5), change_hue(pixels, 0.3);
    change_sharpness(pixels, 2), change_saturation(pixels, 2), change_contrast(pixels, 3);
    CHECK(flat == Bytes(flat.size(), 90));
  }
}

TEST_CASE("hue: a third of the circle exchanges the primaries") {
  Bytes pixels{200, 0, 0, 0, 200, 0, 10, 10, 10, 30, 60, 90};
  change_hue({pixels.data(), 2, 2, 3}, 1 / 3.0);
  CHECK(pixels == Bytes{0, 200, 0, 0, 0, 200, 10, 10, 10, 90, 30, 60});
  change_hue({pixels.data(), 2, 2, 3}, -1 / 3.0);
  CHECK(pixels == Bytes{200, 0, 0, 0, 200, 0, 10, 10, 10, 30, 60, 90});
}

TEST_CASE("blur: a Gaussian, mirrored at the edges") {
  Bytes point(11 * 11);
  point[5 * 11 + 5] = 255;
  blur({point.data(), 11, 11, 1}, 1);
  CHECK(point[5 * 11 + 5] == 41);  // 255 · 0.3989², and rounded twice
  CHECK(point[5 * 11 + 6] == point[6 * 11 + 5]);
  CHECK(std::abs(point[5 * 11 + 6] - 25) <= 1);
  Bytes step{0, 0, 0, 100, 100, 100};
  blur({step.data(), 1, 6, 1}, 0.8);
  CHECK(step[0] + step[5] == 100);
  CHECK(step[2] + step[3] == 100);
}

TEST_CASE("warp: as Pillow 13.0 turns, slants and moves") {
  CHECK(warped({.b = 0.3}) ==
        Bytes{0, 50, 100, 150, 200, 7, 57, 107, 157, 207, 64, 114, 164, 214, 0, 71, 121, 171, 221, 0});
  CHECK(warped({.c = -2, .f = 1}) == Bytes{0, 0, 7, 57, 107, 0, 0, 14, 64, 114, 0, 0, 21, 71, 121, 0, 0, 0, 0, 0});
  CHECK(warped(map_of({.degrees = 30}, 4, 5)) ==
        Bytes{0, 100, 150, 207, 207, 50, 57, 107, 164, 214, 7, 57, 114, 164, 171, 14, 14, 71, 121, 0});
  CHECK(warped(map_of({.right = 2, .down = -1}, 4, 5)) == warped({.c = -2, .f = 1}));
  const Bytes pillow{10, 49, 87, 127, 167, 21, 60, 99, 137, 176, 33, 71, 110, 149, 187, 43, 83, 121, 160, 198};
  const Bytes ours = warped({0.8, 0.1, 0.2, -0.2, 0.9, 0.6}, Sampling::bilinear);
  for (const int inside : {6, 7, 8, 11, 12, 13})
    CHECK(std::abs(ours[static_cast<std::size_t>(inside)] - pillow[static_cast<std::size_t>(inside)]) <= 1);
  CHECK(warped({}) == greys());
  CHECK(warped(map_of({}, 4, 5), Sampling::bilinear) == greys());
  CHECK(warped({.a = 1e300, .c = -1e300}) == Bytes(20));
}

TEST_CASE("map_of: the inverse of torchvision's matrix") {
  // torchvision.transforms.functional._get_inverse_affine_matrix([2.5, 2], -10, [1, -2], 1.25, [7, 0]) of 0.26
  const AffineMap map = map_of({.degrees = 10, .right = 1, .down = -2, .zoom = 1.25, .slant_right = 7}, 4, 5);
  const double turn = -10 * M_PI / 180, slant = std::tan(7 * M_PI / 180);
  CHECK(map.a == doctest::Approx((-std::sin(turn) * slant + std::cos(turn)) / 1.25));
  CHECK(map.b == doctest::Approx((std::cos(turn) * slant + std::sin(turn)) / 1.25));
  CHECK(map.d == doctest::Approx(-std::sin(turn) / 1.25));
  CHECK(map.e == doctest::Approx(std::cos(turn) / 1.25));
  // The middle, moved, comes from the middle.
  CHECK(map.a * 3.5 + map.c == doctest::Approx(2.5));
  CHECK(map.d * 3.5 + map.f == doctest::Approx(2));
}

TEST_CASE("Augmentation: drawn from the stream alone, and nothing for what is off") {
  const auto drawn = [](const Augmentation& augmentation, std::uint64_t position) {
    Stream random(5, Purpose::sample, position);
    std::vector<AugmentStep> steps;
    augmentation.draw(32, 48, random, steps);
    std::string all;
    for (auto& step : steps) all += describe(step) + "; ";
    return all;
  };
  Augmentation everything{.policy = AugmentPolicy::randaugment,
                          .rotate = 10,
                          .translate = 0.1,
                          .shear = 5,
                          .brightness = 0.4,
                          .contrast = 0.4,
                          .saturation = 0.4,
                          .hue = 0.1,
                          .grey = 0.5,
                          .blur = 0.5,
                          .solarize = 0.5};
  CHECK(drawn(everything, 3) == drawn(everything, 3));
  CHECK(drawn(everything, 3) != drawn(everything, 4));
  CHECK(drawn({}, 3).empty());
  Stream off(5, Purpose::sample, 0), fresh(5, Purpose::sample, 0);
  std::vector<AugmentStep> steps;
  Augmentation{}.draw(8, 8, off, steps);
  CHECK(off.next() == fresh.next());

  Stream same(5, Purpose::sample, 7);
  const double factor = same.uniform(0.6, 1.4);
  Stream random(5, Purpose::sample, 7);
  Augmentation{.brightness = 0.4}.draw(8, 8, random, steps);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].amount == factor);
}

TEST_CASE("Augmentation: the policies' strengths stay within their ranges, and every step can be done") {
  for (const auto policy : {AugmentPolicy::randaugment, AugmentPolicy::trivialaugment}) {
    std::vector<AugmentStep> steps;
    std::vector<int> seen(12);
    for (std::uint64_t position = 0; position < 2000; ++position) {
      Stream random(1, Purpose::sample, position);
      Augmentation{.policy = policy, .policy_magnitude = 30}.draw(20, 30, random, steps);
      CHECK(steps.size() <= (policy == AugmentPolicy::randaugment ? 2 : 1));
      for (auto& step : steps) {
        ++seen[static_cast<std::size_t>(step.kind)];
        const double most = policy == AugmentPolicy::randaugment ? 1.9 : 1.99;
        if (step.kind <= AugmentStep::Kind::sharpness) CHECK(std::abs(step.amount) <= most);
        if (step.kind == AugmentStep::Kind::posterize) CHECK((step.amount >= 2 && step.amount <= 8));
        Bytes pixels = colours();
        apply(step, {pixels.data(), 4, 5, 3});
        apply(step, {pixels.data(), 6, 10, 1});
      }
    }
    for (const auto kind : {AugmentStep::Kind::warp, AugmentStep::Kind::sharpness, AugmentStep::Kind::equalize,
                            AugmentStep::Kind::posterize, AugmentStep::Kind::solarize, AugmentStep::Kind::saturation})
      CHECK(seen[static_cast<std::size_t>(kind)] > 50);
  }
}

}  // namespace flowtrain::augment_test
