#include "stages/detection/soft_nms.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/error.h"

namespace flowtrain::soft_nms_test {

namespace {

/// Three boxes of 10 x 10 pixels: the second one overlaps the first by 9 x 10, the third one stands alone.
std::vector<ScoredBox> three() {
  return {{1, 0, 10, 9, 0.8F, 0.8F, 0.8F}, {0, 0, 9, 9, 0.9F, 0.9F, 0.9F}, {50, 50, 59, 59, 0.5F, 0.5F, 0.5F}};
}

constexpr double iou = 90.0 / 110;

}  // namespace

TEST_CASE("hard NMS drops what overlaps a better box") {
  auto boxes = three();
  CHECK(soft_nms(boxes, {.method = NmsMethod::hard}) == 2);
  CHECK(boxes[0].score == 0.9F);
  CHECK(boxes[1].score == 0.5F);
  boxes = three();
  CHECK(soft_nms(boxes, {.method = NmsMethod::hard, .threshold = 0.85F}) == 3);
}

TEST_CASE("soft NMS lowers scores, and orders by what is left of them") {
  auto boxes = three();
  CHECK(soft_nms(boxes, {.method = NmsMethod::linear}) == 3);
  CHECK(boxes[1].score == 0.5F);
  CHECK(boxes[2].score == doctest::Approx(0.8 * (1 - iou)));
  boxes = three();
  CHECK(soft_nms(boxes, {.method = NmsMethod::exponential, .sigma = 0.7F}) == 3);
  CHECK(boxes[2].score == doctest::Approx(0.8 * std::exp(-iou * iou / 0.7)));
}

TEST_CASE("merging takes the mean of overlapping boxes, weighted by corner scores and overlap") {
  auto boxes = three();
  soft_nms(boxes, {.method = NmsMethod::linear, .merge = true, .weight_exp = 2});
  const double weight = 0.8 * iou * iou;
  CHECK(boxes[0].x0 == doctest::Approx(weight / (0.9 + weight)));
  CHECK(boxes[0].x1 == doctest::Approx((9 * 0.9 + 10 * weight) / (0.9 + weight)));
  CHECK(boxes[0].y1 == doctest::Approx(9));
  CHECK(boxes[0].score == 0.9F);

  std::vector<ScoredBox> without_weight{{1, 2, 3, 4, 0.5F, 0, 0}};
  soft_nms(without_weight, {.merge = true});
  CHECK(without_weight[0].x0 == 1);
  CHECK(without_weight[0].y1 == 4);
}

TEST_CASE("the reference's way keeps corner scores in place and copies of what came last") {
  ClassBoxes boxes{three()};
  soft_nms(boxes, {.method = NmsMethod::hard});
  REQUIRE(boxes[0].size() == 2);
  CHECK(boxes[0][0].tl_score == 0.9F);

  boxes = {three()};
  soft_nms(boxes, {.method = NmsMethod::hard, .mirror = true});
  REQUIRE(boxes[0].size() == 3);
  CHECK(boxes[0][0].score == 0.9F);
  CHECK(boxes[0][0].tl_score == 0.8F);
  CHECK(boxes[0][1].x0 == 50);
  CHECK(boxes[0][2].x0 == 50);
}

TEST_CASE("without NMS all boxes keep their scores, and are sorted by them") {
  auto boxes = three();
  CHECK(soft_nms(boxes, {.method = NmsMethod::none}) == 3);
  CHECK(boxes[0].score == 0.9F);
  CHECK(boxes[1].score == 0.8F);
  CHECK(boxes[2].score == 0.5F);
}

TEST_CASE("no boxes, and one") {
  CHECK(soft_nms(std::span<ScoredBox>(), {}) == 0);
  std::vector<ScoredBox> one{{0, 0, 1, 1, 0.0001F, 0, 0}};
  CHECK(soft_nms(one, {}) == 1);
}

TEST_CASE("methods by name") {
  CHECK(nms_method("nms") == NmsMethod::hard);
  CHECK(nms_method("linear_soft_nms") == NmsMethod::linear);
  CHECK(nms_method("exp_soft_nms") == NmsMethod::exponential);
  CHECK(nms_method("none") == NmsMethod::none);
  try {
    nms_method("soft");
    FAIL("not refused");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(std::string(error.what()) == "nms_algorithm is 'soft', expected nms, linear_soft_nms, exp_soft_nms or none");
  }
}

TEST_CASE("the best boxes of all classes stay, with those that tie") {
  auto scored = [](float score) { return ScoredBox{0, 0, 1, 1, score, 0, 0}; };
  ClassBoxes boxes{{scored(0.9F), scored(0.2F)}, {}, {scored(0.5F), scored(0.5F), scored(0.1F)}};
  ClassBoxes all = boxes;
  keep_best(all, 5);
  CHECK(all[0].size() + all[2].size() == 5);
  keep_best(boxes, 2);
  CHECK(boxes[0].size() == 1);
  CHECK(boxes[2].size() == 2);
  keep_best(boxes, 0);
  CHECK(boxes.size() == 3);
  CHECK(boxes[0].empty());
}

}  // namespace flowtrain::soft_nms_test
