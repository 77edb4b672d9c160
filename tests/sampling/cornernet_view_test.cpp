// The CornerNet samplers cut views: their draws, the order of these, and the boxes.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>

#include "sampling/samplers/cornernet/color.h"
#include "sampling/samplers/cornernet/targets.h"
#include "tests/support/pictures.h"

namespace flowtrain::cornernet_view_test {
namespace {

/// Notes what is asked for; answers with the given numbers, then with the middle.
class Notes : public DrawSource {
 public:
  explicit Notes(std::deque<double> answers = {}) : answers_(std::move(answers)) {}

  double choice(std::span<const double> scales) override {
    return note("choice of " + std::to_string(scales.size()), 1);
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) override {
    const auto what = "integer " + std::to_string(low) + ".." + std::to_string(high - 1);
    return static_cast<std::int64_t>(note(what, static_cast<double>((low + high) / 2)));
  }
  double uniform() override { return note("uniform", 0); }
  std::array<JitterStep, 3> shuffle() override {
    asked.push_back("shuffle");
    return {JitterStep::brightness, JitterStep::contrast, JitterStep::saturation};
  }
  double jitter() override { return note("jitter", 0); }
  std::array<double, 3> lighting() override { return {note("lighting", 0), 0, 0}; }

  std::vector<std::string> asked;

 private:
  double note(const std::string& what, double otherwise) {
    asked.push_back(what);
    if (answers_.empty()) return otherwise;
    const double answer = answers_.front();
    answers_.pop_front();
    return answer;
  }

  std::deque<double> answers_;
};

using Asked = std::vector<std::string>;

CornerOptions options_of(bool saccade) {
  CornerOptions options;
  options.saccade = saccade;
  options.classes = 3;
  options.input_size = saccade ? Extent{255, 255} : Extent{511, 511};
  options.output_size = saccade ? Extent{64, 64} : Extent{128, 128};
  options.scales = saccade ? scale_range(0.5, 1.1, 0.1) : scale_range(0.6, 1.4, 0.1);
  options.rand_crop = !saccade;
  return options;
}

View view_of(const Image& picture, const CornerOptions& options, const std::vector<Box>& boxes, DrawSource& draws) {
  View view;
  take_boxes(boxes, picture.view(), options, view);
  (options.saccade ? cut_saccade : cut_cornernet)(picture.view(), options, draws, view);
  return view;
}

}  // namespace

TEST_CASE("scale_range: the published scales, with numpy's rounding") {
  CHECK(scale_range(0.6, 1.4, 0.1).size() == 8);
  const auto saccade = scale_range(0.5, 1.1, 0.1);
  REQUIRE(saccade.size() == 7);
  CHECK(saccade[3] == 0.7999999999999999);
  CHECK(saccade[6] == 1.0999999999999999);
}

TEST_CASE("cut_cornernet: draws and their order") {
  Notes draws;
  view_of(gradient_picture(480, 200, 3), options_of(false), {}, draws);
  CHECK(draws.asked == Asked{"choice of 8", "integer 64..135", "integer 128..351", "uniform"});
  auto options = options_of(false);
  options.rand_crop = false;
  Notes fewer;
  view_of(gradient_picture(48, 20, 3), options, {}, fewer);
  CHECK(fewer.asked == Asked{"uniform"});
}

TEST_CASE("cut_cornernet: boxes move with the picture, and are mirrored") {
  const std::vector<Box> boxes{{100, 60, 150, 90, 0}, {0, 0, 20, 20, 1}};
  Notes draws({1, 150, 100, 0});  // 511 around (150, 100): moved by (105, 155)
  const View view = view_of(gradient_picture(200, 300, 3), options_of(false), boxes, draws);
  REQUIRE(view.boxes.size() == 2);
  CHECK(view.boxes[0].at.x0 == 205);
  CHECK(view.boxes[0].at.y1 == 245);
  Notes mirrored({1, 150, 100, 0.9});
  const View flipped = view_of(gradient_picture(200, 300, 3), options_of(false), boxes, mirrored);
  CHECK(flipped.boxes[0].at.x0 == 511 - 255 - 1);
  CHECK(flipped.boxes[0].at.x1 == 511 - 205 - 1);
  for (int x = 0; x < 511; ++x) CHECK(view.pixels[255 * 1533 + x * 3] == flipped.pixels[255 * 1533 + (510 - x) * 3]);
  CHECK(view.pixels[0] == 0);  // outside the picture
}

TEST_CASE("cut_cornernet: boxes outside the part are left out") {
  Notes draws({0.6, 150, 100, 0});  // 306 around (150, 100) of a wide picture
  const std::vector<Box> boxes{{500, 0, 700, 99, 0}, {10, 0, 50, 99, 1}};
  const View view = view_of(gradient_picture(200, 900, 3), options_of(false), boxes, draws);
  REQUIRE(view.boxes.size() == 1);
  CHECK(view.boxes[0].at.label == 1);
}

TEST_CASE("cut_saccade: draws and their order") {
  const auto options = options_of(true);
  const Image picture = gradient_picture(600, 800, 3);
  Notes none;
  view_of(picture, options, {}, none);
  CHECK(none.asked == Asked{"choice of 7", "uniform", "integer 0..545", "integer 0..345", "uniform"});
  // The second box, long side 200, becomes 100: the picture is halved.
  Notes off_centre({1, 100, 0.3});
  view_of(picture, options, {{0, 0, 30, 20, 0}, {400, 300, 600, 380, 1}}, off_centre);
  CHECK(off_centre.asked ==
        Asked{"integer 0..1", "integer 96..254", "uniform", "integer 45..145", "integer 0..45", "uniform"});
  Notes centred({1, 100, 0.8, 3, 4, 250, 14, 14, 170, 0});
  const View view = view_of(picture, options, {{0, 0, 30, 20, 0}, {400, 300, 600, 380, 1}}, centred);
  CHECK(centred.asked == Asked{"integer 0..1", "integer 96..254", "uniform", "integer 0..14", "integer 0..14",
                               "integer 247..254", "integer 0..14", "integer 0..14", "integer 156..184", "uniform"});
  REQUIRE(view.boxes.size() == 1);  // the first box is out of view
  CHECK(view.boxes[0].at.x0 == 200 - (250 - 127));
  CHECK(view.boxes[0].shown);
  Notes medium({0, 40}), small({0, 20});
  view_of(picture, options, {{0, 0, 96, 20, 0}}, medium);
  CHECK(medium.asked[1] == "integer 32..96");
  view_of(picture, options, {{0, 0, 32, 20, 0}}, small);
  CHECK(small.asked[1] == "integer 16..32");
}

TEST_CASE("cut_saccade: validation looks at the middle of the picture as it is") {
  auto options = options_of(true);
  options.augment = false;
  CentredDraws draws;
  const View view = view_of(gradient_picture(600, 800, 3), options, {{350, 250, 450, 350, 2}}, draws);
  REQUIRE(view.boxes.size() == 1);
  CHECK(view.boxes[0].at.x0 == 350 - (400 - 127));
  CHECK(view.boxes[0].at.y1 == 350 - (300 - 127));
}

TEST_CASE("cut_saccade: boxes that are mostly out of view, or small, are not shown") {
  auto options = options_of(true);
  options.augment = false;
  CentredDraws draws;
  // The view is 273..527 by 173..427 of the picture.
  const View view = view_of(gradient_picture(600, 800, 3), options,
                            {{220, 200, 300, 300, 0}, {260, 200, 360, 300, 1}, {400, 300, 415, 310, 2}}, draws);
  REQUIRE(view.boxes.size() == 3);
  CHECK_FALSE(view.boxes[0].shown);
  CHECK(view.boxes[1].shown);
  CHECK_FALSE(view.boxes[2].shown);
}

TEST_CASE("cut_saccade: an object of less than a pixel does not blow the picture up") {
  Notes draws({0, 32, 0, 5, 5, 0});
  const View view = view_of(gradient_picture(600, 800, 3), options_of(true), {{1, 1, 1.01f, 1.01f, 0}}, draws);
  CHECK(view.pixels.size() == 255 * 255 * 3);
}

TEST_CASE("write_attention: a range's ends both count") {
  const std::vector<Box> at{{0, 0, 96, 20, 0}, {100, 100, 120, 132, 1}};
  std::vector<ViewBox> boxes;
  for (const Box& box : at) boxes.push_back({box, box, false});  // whether shown or not
  std::vector<float> large(16 * 16, 7), medium(32 * 32, 7), small(64 * 64, 7);
  write_attention(boxes, {16, 16, 96, 256}, large.data());
  write_attention(boxes, {32, 8, 32, 96}, medium.data());
  write_attention(boxes, {64, 4, 0, 32}, small.data());
  CHECK(large[3] == 1);
  CHECK(std::count(large.begin(), large.end(), 0.0f) == 16 * 16 - 1);
  CHECK(medium[1 * 32 + 6] == 1);
  CHECK(medium[14 * 32 + 13] == 1);
  CHECK(small[29 * 64 + 27] == 1);
  CHECK(std::count(small.begin(), small.end(), 0.0f) == 64 * 64 - 1);
}

TEST_CASE("write_targets: bumps of boxes, shown or not") {
  auto options = options_of(true);
  options.max_objects = 2;
  std::vector<GaussianTarget> gaussians(8, GaussianTarget{7, 7, 7, 7, 7, 7, 7});
  std::vector<float> tl_off(4, 7), br_off(4, 7);
  std::vector<std::uint8_t> mask(2, 7);
  std::vector<std::int64_t> tl_ind(2, 7), br_ind(2, 7);
  std::int32_t untagged = 7;
  const CornerTargets targets{gaussians.data(), mask.data(),   tl_off.data(), br_off.data(),
                              tl_ind.data(),    br_ind.data(), &untagged};
  const Box box{40, 60, 140, 160, 1};
  write_targets(std::vector<ViewBox>{{box, box, false}}, options, targets);
  CHECK(mask == std::vector<std::uint8_t>{0, 0});
  const int radius = gaussians[0][5];
  CHECK(radius > 0);
  CHECK(gaussians[0] == GaussianTarget{1, 10, 15, 35, 40, radius, 0});
  CHECK(gaussians[1][0] == -1);
  CHECK(gaussians[7][0] == -1);
  CHECK(untagged == 0);

  // Twelve boxes: the two largest get tags, the eight largest leave bumps, in their order.
  std::vector<ViewBox> many;
  for (int i = 0; i < 12; ++i) {
    const float side = i < 4 ? 10 : 20 + static_cast<float>(i);
    many.push_back({{0, 0, side, side, i % 3}, {}, true});
  }
  write_targets(many, options, targets);
  CHECK(mask == std::vector<std::uint8_t>{1, 1});
  CHECK(untagged == 10);
  CHECK(gaussians[0] == GaussianTarget{1, 0, 0, 6, 6, gaussians[0][5], 1});
  CHECK(gaussians[7][0] == 11 % 3);
  CHECK(br_ind[1] == 7 * 64 + 7);
}

TEST_CASE("ColorMap: steps in any order are what they are one by one") {
  const std::uint8_t rgb[] = {200, 100, 50};
  const double blue = 50 / 255., green = 100 / 255., red = 200 / 255.;
  const double grey = 0.114 * blue + 0.587 * green + 0.299 * red;
  CHECK(mean_grey(rgb, 1) == doctest::Approx(grey));
  ColorMap map;
  float bgr[3];
  map.apply(rgb, 1, bgr);
  CHECK(bgr[0] == doctest::Approx(blue));
  CHECK(bgr[2] == doctest::Approx(red));
  map.jitter(JitterStep::saturation, 0.8, 0.3);
  map.jitter(JitterStep::brightness, 1.3, 0.3);
  map.jitter(JitterStep::contrast, 0.7, 0.3);
  map.light({0.1, 0, 0});
  map.apply(rgb, 1, bgr);
  CHECK(bgr[0] == doctest::Approx((blue * 0.8 + grey * 0.2) * 1.3 * 0.7 + 0.3 * 0.3 - 0.58752847 * 0.2141788 * 0.1));
}

TEST_CASE("StreamDraws: ranges") {
  Stream random(3, Purpose::sample, 1);
  StreamDraws draws(random);
  std::set<std::array<JitterStep, 3>> orders;
  for (int i = 0; i < 500; ++i) {
    const auto number = draws.integer(-2, 3);
    CHECK((number >= -2 && number < 3));
    CHECK(std::abs(draws.jitter()) <= 0.4);
    orders.insert(draws.shuffle());
  }
  CHECK(orders.size() == 6);
}

}  // namespace flowtrain::cornernet_view_test
