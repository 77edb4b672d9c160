#include "stages/torch/detection/detector.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <functional>

#include "sampling/core/error.h"

namespace flowtrain::detector_test {

namespace {

const std::vector<std::uint8_t> grey(400 * 400 * 3, 128);

/// One row of detections, (1, 8), in cells.
at::Tensor row(float x0, float y0, float x1, float y1, float score, float category) {
  return at::tensor({x0, y0, x1, y1, score, score, score, category}).view({1, 8});
}

void check_refused(ExitCode code, const std::string& message, const std::function<void()>& call) {
  try {
    call();
    FAIL("not refused: " << message);
  } catch (const UserError& error) {
    CHECK(error.code() == code);
    CHECK(error.what() == message);
    CHECK(!error.hint().empty());
  }
}

}  // namespace

TEST_CASE("CornerNet: a box that both the picture and its mirror image show") {
  // 127 x 127 pixels fill the net's input; its maps have 32 x 32 cells.
  const Infer infer = [](const at::Tensor& images, bool with_attention) {
    CHECK(!with_attention);
    CHECK(images.sizes() == at::IntArrayRef({2, 3, 127, 127}));
    CHECK(images[0][0][0][0].item<float>() == doctest::Approx((128 / 255.0 - 0.40789654) / 0.28863828));
    return Inference{at::stack({row(4, 8, 12, 16, 0.9F, 3), row(20, 8, 28, 16, 0.8F, 3)}), {}};
  };
  CornerNetOptions options;
  options.nms_algorithm = NmsMethod::hard;
  const auto detector = make_cornernet_detector(options, infer);
  const auto found = detector->detect(grey.data(), 127, 127);
  REQUIRE(found.size() == 1);
  CHECK(found[0].x0 == doctest::Approx(4 * 127 / 32.0));
  CHECK(found[0].y0 == doctest::Approx(8 * 127 / 32.0));
  CHECK(found[0].x1 == doctest::Approx(12 * 127 / 32.0));
  CHECK(found[0].y1 == doctest::Approx(16 * 127 / 32.0));
  CHECK(found[0].score == 0.9F);
  CHECK(found[0].category == 3);
}

TEST_CASE("CornerNet: scales, padding and clipping are undone") {
  CornerNetOptions options;
  options.test_scales = {0.5, 1};
  options.test_flipped = false;
  std::vector<std::vector<std::int64_t>> sizes;
  const Infer infer = [&](const at::Tensor& images, bool) {
    sizes.push_back(images.sizes().vec());
    return Inference{row(0, 0, 999, 999, 0.9F, 0).unsqueeze(0), {}};
  };
  for (const Detection& box : make_cornernet_detector(options, infer)->detect(grey.data(), 100, 200)) {
    CHECK(box.x0 == 0);
    CHECK(box.y0 == 0);
    CHECK(box.x1 == 200);
    CHECK(box.y1 == 100);
  }
  CHECK(sizes == std::vector<std::vector<std::int64_t>>{{1, 3, 127, 127}, {1, 3, 127, 255}});
}

TEST_CASE("CornerNet: pictures that cannot be looked at") {
  const Infer never = [](const at::Tensor&, bool) -> Inference { throw InternalError("looked"); };
  CornerNetOptions options;
  options.test_scales = {0.01};
  const auto detector = make_cornernet_detector(options, never);
  check_refused(ExitCode::data, "test scale 0.010000 leaves nothing of a picture of 20 x 400 pixels",
                [&] { detector->detect(grey.data(), 20, 400); });
  check_refused(ExitCode::data, "picture of 0 x 9 pixels is empty", [&] { detector->detect(grey.data(), 0, 9); });
}

TEST_CASE("Saccade: two overviews, then crops at attention peaks") {
  std::vector<std::int64_t> asked;
  const Infer infer = [&](const at::Tensor& images, bool with_attention) {
    const std::int64_t count = images.size(0);
    asked.push_back(count);
    at::Tensor rows = at::full({count, 1, 8}, -1.0);
    if (!with_attention) {
      rows[0][0] = row(16, 16, 48, 48, 0.8F, 1)[0];
      return Inference{rows, {}};
    }
    std::vector<at::Tensor> maps{at::zeros({count, 1, 16, 16}), at::zeros({count, 1, 32, 32}),
                                 at::zeros({count, 1, 64, 64})};
    maps[1][1][0][8][8] = 0.9;  // of the second overview: 64 input pixels from its corner
    return Inference{rows, maps};
  };
  const auto found = make_saccade_detector({}, infer)->detect(grey.data(), 255, 255);
  CHECK(asked == std::vector<std::int64_t>{2, 1});
  REQUIRE(found.size() == 1);
  CHECK(found[0].category == 1);
  // The second overview shows the picture as it is, so its location is (64, 64), now at scale 2: 127 pixels from 1 on.
  // 255 input pixels are 64 cells.
  CHECK(found[0].x0 == doctest::Approx(16 * 255 / 64.0 / 2 + 1));
  CHECK(found[0].y1 == doctest::Approx(48 * 255 / 64.0 / 2 + 1));
}

TEST_CASE("Saccade: no more crops than allowed, and none where nothing calls for one") {
  int crops = 0;
  bool interesting = true;
  const Infer infer = [&](const at::Tensor& images, bool with_attention) {
    if (!with_attention) crops += static_cast<int>(images.size(0));
    Inference inference{at::full({images.size(0), 1, 8}, -1.0), {}};
    for (const int side : {16, 32, 64}) {
      at::Tensor map = at::zeros({images.size(0), 1, side, side});
      for (int i = 0; interesting && i < side; i += 4) map.select(2, i).select(2, i).fill_(0.5);
      inference.attention.push_back(map);
    }
    return inference;
  };
  SaccadeOptions options;
  options.att_max_crops = 3;
  CHECK(make_saccade_detector(options, infer)->detect(grey.data(), 400, 400).empty());
  CHECK(crops == 3);
  interesting = false;
  CHECK(make_saccade_detector(options, infer)->detect(grey.data(), 400, 400).empty());
  CHECK(crops == 3);
}

TEST_CASE("Saccade: options and answers that do not fit") {
  const Infer without_maps = [](const at::Tensor& images, bool) {
    return Inference{at::zeros({images.size(0), 1, 8}), {}};
  };
  CHECK_THROWS_WITH_AS(make_saccade_detector({}, without_maps)->detect(grey.data(), 9, 9),
                       "saccade: the net gave 0 attention maps, expected 3", InternalError);
  SaccadeOptions options;
  options.att_scales = {{1, 2}};
  check_refused(ExitCode::usage, "a round of att_scales and att_ratios differ in length",
                [&] { make_saccade_detector(options, without_maps); });
  options.att_scales = {};
  check_refused(ExitCode::usage, "att_scales has fewer rounds than att_thresholds",
                [&] { make_saccade_detector(options, without_maps); });
}

TEST_CASE("looking through a net decodes its maps, 32 pictures at once") {
  std::vector<std::int64_t> asked;
  const Heads heads = [&](const at::Tensor& images, bool with_attention) {
    const std::int64_t count = images.size(0);
    asked.push_back(count);
    nets::NamedTensors outputs;
    for (const std::string corner : {"tl", "br"}) {
      at::Tensor heat = at::full({count, 2, 4, 4}, -9.0);
      heat.select(1, 1).select(1, corner == "tl" ? 1 : 2).select(1, corner == "tl" ? 1 : 2).fill_(9);
      outputs.set(corner + "_heat", heat);
      outputs.set(corner + "_tag", at::zeros({count, 1, 4, 4}));
      outputs.set(corner + "_off", at::zeros({count, 2, 4, 4}));
    }
    if (with_attention) outputs.set("att0", at::full({count, 1, 2, 2}, 0.0));
    return outputs;
  };
  const Infer infer = make_infer(heads, {.top_k = 2, .num_dets = 3});
  const Inference inference = infer(at::zeros({40, 3, 16, 16}), true);
  CHECK(asked == std::vector<std::int64_t>{32, 8});
  CHECK(inference.detections.sizes() == at::IntArrayRef({40, 3, 8}));
  const at::Tensor best = inference.detections.select(1, 0);
  CHECK(best.select(1, 0).eq(1).all().item<bool>());
  CHECK(best.select(1, 2).eq(2).all().item<bool>());
  CHECK(best.select(1, 7).eq(1).all().item<bool>());
  REQUIRE(inference.attention.size() == 1);
  CHECK(inference.attention[0].eq(0.5).all().item<bool>());
  CHECK(infer(at::zeros({1, 3, 16, 16}), false).attention.empty());
}

}  // namespace flowtrain::detector_test
