#include <torch/torch.h>
#undef CHECK
#include <doctest/doctest.h>

#include <cmath>

#include "nets/cornernet/decode.h"
#include "nets/cornernet/gaussians.h"
#include "nets/cornernet/loss.h"
#include "tests/support/parts.h"

namespace flowtrain::corner_loss_test {

using namespace flowtrain::nets;
using flowtrain::UserError;
using flowtrain::testing::make_loss;
using flowtrain::testing::Values;

namespace {

/// Outputs of `stacks` stacks and a batch of 2 pictures, 3 classes, 8 x 8 cells and 4 slots that hold 2 and 0 objects.
struct Setting {
  NamedTensors outputs, batch;
};

Setting setting(int stacks, bool saccade) {
  torch::manual_seed(1);
  Setting made;
  for (int s = 0; s < stacks; ++s) {
    const std::string stack = std::to_string(s);
    for (const std::string corner : {"tl", "br"}) {
      made.outputs.set(corner + "_heat" + stack, at::randn({2, 3, 8, 8}).requires_grad_());
      made.outputs.set(corner + "_tag" + stack, at::randn({2, 1, 8, 8}).requires_grad_());
      made.outputs.set(corner + "_off" + stack, at::randn({2, 2, 8, 8}).requires_grad_());
    }
    for (const std::string size : {"0", "1", "2"})
      if (saccade) made.outputs.set("att" + stack + "_" + size, at::randn({2, 1, 4, 4}).requires_grad_());
  }
  made.batch.set("mask", at::tensor({1, 1, 0, 0, 0, 0, 0, 0}, at::kByte).view({2, 4}));
  for (const std::string corner : {"tl", "br"}) {
    at::Tensor heat = at::rand({2, 3, 8, 8}) * 0.9;
    heat.flatten().slice(0, 0, 2).fill_(1);
    made.batch.set(corner + "_heat", heat);
    made.batch.set(corner + "_off", at::rand({2, 4, 2}));
    made.batch.set(corner + "_ind", at::randint(64, {2, 4}, at::kLong));
    made.batch.set(corner + "_valid", at::ones({2, 3, 8, 8}));
  }
  for (const std::string att : {"att0", "att1", "att2"}) made.batch.set(att, at::zeros({2, 1, 4, 4}));
  return made;
}

double value(const at::Tensor& scalar) { return scalar.item<double>(); }

}  // namespace

TEST_CASE("the focal loss of a hand-made map") {
  const at::Tensor logits = at::tensor({0.0F, 2.0F, -1.0F, 30.0F}).view({1, 1, 2, 2}).requires_grad_();
  const at::Tensor target = at::tensor({1.0F, 0.5F, 0.0F, 0.0F}).view({1, 1, 2, 2});
  auto other = [](double p, double t) { return std::pow(1 - t, 4) * p * p * std::log(1 - p); };
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double positive = 0.25 * std::log(0.5);
  const double expected = -(positive + other(sigmoid(2), 0.5) + other(sigmoid(-1), 0) + other(1 - 1e-4, 0));
  const at::Tensor loss = focal_loss(logits, target);
  CHECK(value(loss) == doctest::Approx(expected).epsilon(1e-4));
  loss.backward();
  CHECK(logits.grad().flatten()[3].item<float>() == 0);  // clamped
  CHECK(logits.grad().flatten()[0].item<float>() < 0);

  // A weight of 0 takes a term away, but a positive still counts.
  const at::Tensor valid = at::tensor({0.0F, 1.0F, 0.0F, 0.0F}).view({1, 1, 2, 2});
  CHECK(value(focal_loss(logits, target, valid)) == doctest::Approx(-other(sigmoid(2), 0.5)));
}

TEST_CASE("the focal loss's gradient is that of its formula") {
  torch::manual_seed(2);
  const at::Tensor logits = (at::randn({2, 2, 6, 6}) * 3).requires_grad_();
  at::Tensor target = at::rand({2, 2, 6, 6});
  target.flatten().slice(0, 0, 5).fill_(1);
  const at::Tensor valid = at::rand({2, 2, 6, 6}).gt(0.3).to(at::kFloat);
  const at::Tensor own = torch::autograd::grad({focal_loss(logits, target, valid)}, {logits})[0];

  const at::Tensor p = logits.sigmoid().clamp(1e-4, 1 - 1e-4);
  const at::Tensor terms =
      at::where(target.eq(1), (1 - p).square() * p.log(), (1 - target).pow(4) * p.square() * (1 - p).log());
  const at::Tensor by_torch = torch::autograd::grad({-(terms * valid).sum() / 5}, {logits})[0];
  CHECK(at::allclose(own, by_torch, 1e-4, 1e-6));
}

TEST_CASE("tags: objects are pulled to their mean and pushed from each other") {
  const at::Tensor tl = at::tensor({1.0F, 2.0F, 9.0F}).view({1, 3}), br = at::tensor({2.0F, 2.4F, -9.0F}).view({1, 3});
  const at::Tensor mask = at::tensor({1, 1, 0}, at::kByte).view({1, 3});
  const TagLoss loss = tag_loss(tl, br, mask);
  CHECK(value(loss.pull) == doctest::Approx((0.5 + 0.08) / (2 + 1e-4)));
  const double apart = 1 - 0.7;  // of the means 1.5 and 2.2
  CHECK(value(loss.push) == doctest::Approx((2 * 1 + 2 * apart - 4 / (2 + 1e-4)) / (2 + 1e-4)));

  const TagLoss with_bool = tag_loss(tl, br, mask.to(at::kBool));
  CHECK(value(with_bool.pull) == value(loss.pull));
  CHECK(value(with_bool.push) == value(loss.push));

  const TagLoss none = tag_loss(tl, br, at::zeros({1, 3}, at::kByte));
  CHECK(value(none.pull) == 0);
  CHECK(value(none.push) == 0);
}

TEST_CASE("offsets: smooth L1 per object") {
  const at::Tensor offset = at::tensor({0.5F, 3.0F, 7.0F, 7.0F}).view({1, 2, 2}), target = at::zeros({1, 2, 2});
  const at::Tensor mask = at::tensor({1, 0}, at::kByte).view({1, 2});
  CHECK(value(offset_loss(offset, target, mask)) == doctest::Approx((0.125 + 2.5) / (1 + 1e-4)));
  CHECK(value(offset_loss(offset, target, mask.zero_())) == 0);
}

TEST_CASE("cells are counted row by row") {
  const at::Tensor map = at::arange(24).view({1, 2, 3, 4});
  const at::Tensor cells = at_cells(map, at::tensor({5, 0}, at::kLong).view({1, 2}));
  CHECK(at::equal(cells, at::tensor({5, 17, 0, 12}, at::kLong).view({1, 2, 2})));
}

TEST_CASE("the whole loss is the sum of its parts, and every head learns") {
  for (const bool saccade : {false, true}) {
    const Setting made = setting(2, saccade);
    const NamedTensors losses = (*make_loss(saccade ? "cornernet_saccade" : "cornernet"))(made.outputs, made.batch);
    CHECK(losses.begin()->first == "loss");
    CHECK(losses.contains("att") == saccade);
    double sum = 0;
    for (const auto& [name, part] : losses)
      if (name != "loss") sum += value(part);
    CHECK(value(losses.at("loss")) == doctest::Approx(sum));
    losses.at("loss").backward();
    for (const auto& [name, map] : made.outputs) {
      INFO(name);
      REQUIRE(map.grad().defined());
      CHECK(map.grad().abs().sum().item<double>() > 0);
    }
  }
}

TEST_CASE("weights scale their parts; the attention part shrinks with the square of the stacks") {
  const Setting made = setting(1, true);
  auto parts = [&](const Values& keys) { return (*make_loss("cornernet_saccade", keys))(made.outputs, made.batch); };
  const NamedTensors usual = parts({});
  const NamedTensors heavy = parts({{"pull_weight", 0.2}, {"push_weight", 0.0}, {"off_weight", 3.0}});
  CHECK(value(heavy.at("pull")) == doctest::Approx(2 * value(usual.at("pull"))));
  CHECK(value(heavy.at("push")) == 0);
  CHECK(value(heavy.at("off")) == doctest::Approx(3 * value(usual.at("off"))));

  Setting twice = made;  // the same answers from two stacks: means stay, but not the attention part's
  for (const auto& [name, map] : made.outputs) {
    std::string other = name;
    other[name.starts_with("att") ? 3 : name.size() - 1] = '1';
    twice.outputs.set(other, map);
  }
  const NamedTensors doubled = (*make_loss("cornernet_saccade"))(twice.outputs, twice.batch);
  CHECK(value(doubled.at("focal")) == doctest::Approx(value(usual.at("focal"))));
  CHECK(value(doubled.at("att")) == doctest::Approx(value(usual.at("att")) / 2));
}

TEST_CASE("a corner loss says what it misses") {
  const Setting made = setting(1, false);
  CHECK_THROWS_WITH_AS((*make_loss("cornernet"))({{"logits", at::zeros(1)}}, made.batch),
                       "no tensor named 'tl_heat0'; there are: logits", std::invalid_argument);
  CHECK_THROWS_AS((*make_loss("cornernet_saccade"))(made.outputs, made.batch), std::invalid_argument);
  CHECK_THROWS_WITH_AS(make_loss("cornernet", {{"pull_weight", -1.0}}),
                       doctest::Contains("loss.pull_weight: must be from 0 to "), UserError);
  CHECK_THROWS_WITH_AS(make_loss("cornernet", {{"label_smoothing", 0.1}}),
                       "test.toml:1:1: loss.label_smoothing: unknown key", UserError);
}

TEST_CASE("the whole loss draws its maps from lists, and knows for which size they are") {
  Setting made = setting(1, false);
  at::Tensor gaussians = at::full({2, 4, 7}, -1, at::kInt);
  gaussians[0][0] = at::tensor({1, 2, 3, 6, 7, 1, 1}, at::kInt);
  const CornerHeat heat = draw_gaussians(gaussians, 3, 8, 8, false);
  made.batch.set("tl_heat", heat.tl);
  made.batch.set("br_heat", heat.br);
  const auto loss = make_loss("cornernet");
  const double dense = value((*loss)(made.outputs, made.batch).at("loss"));
  made.batch.set("gaussians", gaussians);
  made.batch.set("untagged", at::tensor({3, 0}, at::kInt));
  made.batch.set("cells", at::tensor({8, 8, 8, 8}, at::kInt).view({2, 2}));
  const auto from_lists = (*loss)(made.outputs, made.batch);
  CHECK(value(from_lists.at("loss")) == dense);
  CHECK(value(from_lists.at("untagged")) == 1.5);
  for (auto& name : loss->scalars()) CHECK(from_lists.contains(name));
  made.batch.set("cells", at::tensor({4, 8, 4, 8}, at::kInt).view({2, 2}));
  CHECK_THROWS_WITH_AS((*make_loss("cornernet"))(made.outputs, made.batch),
                       "the net gives maps of 8x8 cells, the batch has targets for 4x8", std::invalid_argument);
}

}  // namespace flowtrain::corner_loss_test
