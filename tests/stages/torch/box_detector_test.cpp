#include "stages/torch/detection/box_detector.h"

#include <ATen/ATen.h>

#undef CHECK
#include <doctest/doctest.h>

#include <limits>

#include "nets/net.h"
#include "sampling/core/error.h"
#include "stages/loader/slab.h"
#include "stages/torch/detection/make_detector.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::box_detector_test {

namespace {

/// A net that gives the outputs it was told to, and keeps what it was shown.
class Told final : public nets::Net {
 public:
  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    shown = batch;
    return outputs_;
  }
  bool may_give(const std::string& output) const override { return outputs_.contains(output); }
  nets::NamedTensors parameters() const override { return {}; }
  nets::NamedTensors buffers() const override { return {}; }
  void train(bool) override {}
  void freeze(const std::set<std::string>&) override {}
  void to(at::Device, bool) override {}
  void span_batch_norm(const nets::SumOverProcesses&) override {}

  void tell(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels) {
    outputs_ = {{"boxes", boxes}, {"scores", scores}, {"labels", labels}};
  }

  nets::NamedTensors shown;

 private:
  nets::NamedTensors outputs_;
};

const std::vector<Field> fields{{"image", DType::u8, {20, 10, 3}, {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
                                {"boxes", DType::f32, {7, 4}},
                                {"count", DType::i64, {}}};
const SlabLayout layout(fields, 4);

/// The detector `boxes` of a net, for two classes.
std::unique_ptr<Detector> detector_of(Told& net, const std::vector<std::pair<std::string, Value>>& values = {},
                                      const SlabLayout& batches = layout) {
  std::vector<Key> keys{{"name", Kind::text, std::string("boxes"), ""}};
  for (auto& key : box_keys()) keys.push_back(key);
  static const Settings sampler{};
  return make_detector("boxes", settings_for(keys, values, "detect"), {net, batches, sampler, 2, "cpu"});
}

at::Tensor row(std::initializer_list<float> values) { return at::tensor(values).unsqueeze(0); }

}  // namespace

TEST_CASE("boxes come back in pixels of the picture, clipped to it, by class and score") {
  Told net;
  net.tell(at::tensor({1.0F, 2.0F, 3.0F, 4.0F, -5.0F, 0.0F, 5.0F, 30.0F, 0.0F, 0.0F, 9.0F, 9.0F}).view({1, 3, 4}),
           row({0.5F, 0.9F, 0.7F}), at::tensor({0, 1, 0}).unsqueeze(0));
  const std::vector<std::uint8_t> picture(40 * 40 * 3, 255);
  const auto found = detector_of(net)->detect(picture.data(), 40, 40);
  REQUIRE(found.size() == 3);
  CHECK(found[0].category == 0);
  CHECK(found[0].score == 0.7F);
  CHECK(found[0].x1 == 36);
  CHECK(found[1].x0 == 4);
  CHECK(found[1].y0 == 4);
  CHECK(found[1].x1 == 12);
  CHECK(found[1].y1 == 8);
  CHECK(found[2].category == 1);
  CHECK(found[2].x0 == 0);
  CHECK(found[2].x1 == 20);
  CHECK(found[2].y1 == 40);
}

TEST_CASE("a net is shown the picture as the loader would finish it, and zeros beside it") {
  Told net;
  net.tell(at::zeros({1, 0, 4}), at::zeros({1, 0}), at::zeros({1, 0}));
  std::vector<std::uint8_t> blue(20 * 10 * 3, 0);
  for (std::size_t i = 0; i < blue.size(); i += 3) blue[i] = 255;
  CHECK(detector_of(net)->detect(blue.data(), 20, 10).empty());
  const at::Tensor image = net.shown.at("image");
  CHECK(image.sizes() == at::IntArrayRef({1, 3, 20, 10}));
  CHECK(at::allclose(image.select(1, 0), at::full({1, 20, 10}, -2.0)));
  CHECK(at::allclose(image.select(1, 2), at::full({1, 20, 10}, 2.0)));
  CHECK(net.shown.at("boxes").sizes() == at::IntArrayRef({1, 7, 4}));
  CHECK(net.shown.at("count").eq(0).all().item<bool>());
}

TEST_CASE(
    "padding, low scores, other classes and what is no box are left out; NMS and the limit are those of the keys") {
  Told net;
  const at::Tensor box = at::tensor({0.0F, 0.0F, 8.0F, 16.0F});
  const auto boxes = [&](std::int64_t count) { return box.expand({1, count, 4}); };
  const std::vector<std::uint8_t> picture(20 * 10 * 3, 0);
  const auto count = [&](const std::vector<std::pair<std::string, Value>>& values = {}) {
    return detector_of(net, values)->detect(picture.data(), 20, 10).size();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  net.tell(boxes(5), row({0.0F, 0.04F, nan, 0.9F, 0.9F}), at::tensor({0, 0, 0, 2, -1}).unsqueeze(0));
  CHECK(count() == 0);
  CHECK(count({{"least_score", 0.0}}) == 1);
  net.tell(at::full({1, 1, 4}, nan), row({0.9F}), at::zeros({1, 1}));
  CHECK(count() == 0);
  net.tell(boxes(3), row({0.9F, 0.8F, 0.7F}), at::tensor({0, 0, 1}).unsqueeze(0));
  CHECK(count() == 2);
  CHECK(count({{"nms_algorithm", std::string("none")}}) == 3);
  CHECK(count({{"nms_algorithm", std::string("none")}, {"max_per_image", std::int64_t{1}}}) == 1);
}

TEST_CASE("outputs and batches of other shapes are refused") {
  Told net;
  net.tell(at::zeros({1, 3, 4}), at::zeros({1, 3}), at::zeros({1, 2}));
  const std::vector<std::uint8_t> picture(20 * 10 * 3, 0);
  const auto detector = detector_of(net);
  CHECK_THROWS_WITH_AS(detector->detect(picture.data(), 20, 10),
                       "detect.name: the net gives boxes [1, 3, 4], scores [1, 3] and labels [1, 2] for 1 pictures",
                       UserError);
  CHECK_THROWS_WITH_AS(detector->detect(picture.data(), 0, 10), "picture of 0 x 10 pixels is empty", UserError);
  const SlabLayout finished({{"image", DType::f32, {20, 10, 3}}}, 4);
  CHECK_THROWS_WITH_AS(detector_of(net, {}, finished),
                       doctest::Contains("detect.name: this detector needs batches with an `image` of bytes"),
                       UserError);
}

}  // namespace flowtrain::box_detector_test
