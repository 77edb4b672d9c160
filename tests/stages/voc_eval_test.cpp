// The VOC challenge's average precision, on a case worked out by hand.

#include "stages/evaluation/voc_eval.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"

namespace flowtrain::voc_eval_test {
namespace {

TrueObject object(std::int64_t image, double x, double y, bool difficult = false) {
  return {image, 0, x, y, 10, 10, 100, difficult};
}

FoundObject found(std::int64_t image, double x, double y, double height, double score) {
  return {image, 0, x, y, 10, height, score};
}

/// Three objects and a difficult one in two pictures.
GroundTruth truth() {
  return {{1, 2},
          {{0, "a"}, {1, "nothing"}},
          {object(1, 0, 0), object(1, 20, 0), object(2, 0, 0), object(2, 50, 50, true)}};
}

const std::vector<FoundObject> detections{found(1, 20, 0, 4, 0.4),    // overlap 0.4
                                          found(2, 0, 0, 5, 0.5),     // overlap 0.5
                                          found(1, 0, 0, 10, 0.6),    // the first one again
                                          found(2, 50, 50, 10, 0.7),  // the difficult one
                                          found(2, 30, 0, 10, 0.8),   // nothing there
                                          found(1, 0, 0, 10, 0.9)};

TEST_CASE("voc: precision over recall") {
  // Recall and precision: 1/3 1, 1/3 1/2, 1/3 1/3, 2/3 1/2, 2/3 2/5.
  const auto area = voc_evaluate(truth(), detections);
  REQUIRE(area.average_precisions.size() == 2);
  CHECK(area.average_precisions[0] == doctest::Approx(0.5));
  CHECK(area.average_precisions[1] == -1);
  CHECK(area.mean_ap == doctest::Approx(0.5));
  CHECK(voc_evaluate(truth(), detections, VocRule::eleven_points).mean_ap == doctest::Approx((4 + 3 * 0.5) / 11));
  // At an overlap of 0.4 the last one is right, too: 1/3 1, 1/3 1/2, 1/3 1/3, 2/3 1/2, 1 3/5.
  CHECK(voc_evaluate(truth(), detections, VocRule::all_points, 0.4).mean_ap == doctest::Approx((1 + 2 * 0.6) / 3));
  CHECK(voc_evaluate(truth(), detections, VocRule::eleven_points, 0.4).mean_ap == doctest::Approx((4 + 7 * 0.6) / 11));
}

TEST_CASE("voc: all, nothing, and nobody to find") {
  std::vector<FoundObject> all;
  for (const auto& each : truth().objects)
    all.push_back({each.image_id, each.category_id, each.x, each.y, each.width, each.height, 0.5});
  for (const auto rule : {VocRule::all_points, VocRule::eleven_points}) {
    CHECK(voc_evaluate(truth(), all, rule).mean_ap == doctest::Approx(1));
    CHECK(voc_evaluate(truth(), {}, rule).mean_ap == 0);
    CHECK(voc_evaluate({{1, 2}, {{0, "a"}}, {object(2, 50, 50, true)}}, all, rule).mean_ap == -1);
  }
  const std::vector<FoundObject> elsewhere{found(3, 0, 0, 10, 0.5)};
  CHECK_THROWS_AS(voc_evaluate(truth(), elsewhere), UserError);
}

}  // namespace
}  // namespace flowtrain::voc_eval_test
