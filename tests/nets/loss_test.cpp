#include "nets/losses/loss.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/mistake.h"
#include "tests/support/failure_helper.h"
#include "tests/support/parts.h"

namespace flowtrain::loss_test {

using namespace flowtrain::nets;
using flowtrain::failure_of;
using flowtrain::UserError;
using flowtrain::testing::make_loss;
using flowtrain::testing::Values;

namespace {

const at::Tensor logits = at::tensor({1.0F, 2.0F, 0.5F, -1.0F, 0.0F, 3.0F}).view({2, 3});
const at::Tensor label = at::tensor({2, 0}, at::kLong);

double loss(const std::string& name, const NamedTensors& batch, const Values& keys = {}) {
  const NamedTensors losses = (*make_loss(name, keys))({{"logits", logits}}, batch);
  CHECK(losses.begin()->first == "loss");
  CHECK(losses.at("loss").dim() == 0);
  return losses.at("loss").item<double>();
}

}  // namespace

TEST_CASE("cross entropy is the mean of -log softmax at the label") {
  auto row = [](double a, double b, double c, double own) {
    return std::log(std::exp(a) + std::exp(b) + std::exp(c)) - own;
  };
  const double expected = (row(1, 2, 0.5, 0.5) + row(-1, 0, 3, -1)) / 2;
  CHECK(loss("cross_entropy", {{"label", label}}) == doctest::Approx(expected));

  // Smoothing: the share s of the weight is spread over all classes evenly.
  const double uniform = (row(1, 2, 0.5, 3.5 / 3) + row(-1, 0, 3, 2.0 / 3)) / 2;
  CHECK(loss("cross_entropy", {{"label", label}}, {{"label_smoothing", 0.1}}) ==
        doctest::Approx(0.9 * expected + 0.1 * uniform));
}

TEST_CASE("mse compares with the one-hot label, or with a target") {
  const double expected = (1 + 4 + 0.25 + 4 + 0 + 9) / 6.0;
  CHECK(loss("mse", {{"label", label}}) == doctest::Approx(expected));
  CHECK(loss("mse", {{"label", label}, {"target", logits + 2}}) == doctest::Approx(4));
  for (const auto type : {at::kLong, at::kByte, at::kDouble})
    CHECK(loss("mse", {{"target", at::ones({2, 3}).to(type)}}) ==
          doctest::Approx(loss("mse", {{"target", at::ones({2, 3})}})));
  CHECK_THROWS_WITH_AS(loss("mse", {{"target", at::zeros({2, 1})}}),
                       "loss mse: target has shape [2, 1], expected that of logits, [2, 3]", std::invalid_argument);
}

TEST_CASE("of a mixed batch the loss is the weighted sum of its two labels' losses") {
  const at::Tensor second = at::tensor({1, 0}, at::kLong), weight = at::tensor(0.7, at::kDouble);
  for (const double smoothing : {0.0, 0.1}) {
    const auto smoothed = [&](const NamedTensors& batch) {
      return loss("cross_entropy", batch, {{"label_smoothing", smoothing}});
    };
    const double expected = 0.7 * smoothed({{"label", label}}) + 0.3 * smoothed({{"label", second}});
    const NamedTensors mixed{{"label", label}, {"second_label", second}, {"label_weight", weight}};
    CHECK(smoothed(mixed) == doctest::Approx(expected));
    // The same as one soft target, whose entropy is what timm's SoftTargetCrossEntropy takes.
    const at::Tensor target =
        (0.7 * at::one_hot(label, 3) + 0.3 * at::one_hot(second, 3)) * (1 - smoothing) + smoothing / 3;
    CHECK(smoothed(mixed) == doctest::Approx((-target * logits.log_softmax(1)).sum(1).mean().item<double>()));
  }
  const at::Tensor target = 0.7 * at::one_hot(label, 3) + 0.3 * at::one_hot(second, 3);
  CHECK(loss("mse", {{"label", label}, {"second_label", second}, {"label_weight", weight}}) ==
        doctest::Approx(loss("mse", {{"target", target.to(at::kFloat)}})));
}

TEST_CASE("labels that are ignored do not count, in rows as in maps of them") {
  const auto counted = [](const at::Tensor& logits, const NamedTensors& batch, const Values& keys) {
    const auto own = make_loss("cross_entropy", keys);
    CHECK(own->counts());
    const NamedTensors made = (*own)({{"logits", logits}}, batch);
    CHECK((made.at("loss").scalar_type() == at::kFloat));
    return std::pair(made.at("loss").item<double>(), made.at("count").item<double>());
  };
  at::manual_seed(4);
  const at::Tensor map = at::randn({3, 4, 5, 6});
  for (const std::int64_t ignored : {-100, -1, 2, 255})
    for (const double smoothing : {0.0, 0.1}) {
      CAPTURE(ignored);
      at::Tensor labels = at::randint(4, {3, 5, 6}, at::kLong);
      labels = labels.masked_fill(at::rand({3, 5, 6}) < 0.6, ignored);
      const auto [mean, count] =
          counted(map, {{"label", labels}}, {{"ignore_index", ignored}, {"label_smoothing", smoothing}});
      CHECK(count == labels.ne(ignored).sum().item<double>());
      CHECK(mean ==
            doctest::Approx(
                at::cross_entropy_loss(map, labels, {}, at::Reduction::Mean, ignored, smoothing).item<double>()));
    }
  // Labels of -100, which end rows of text, do not count beside another label that does not either.
  const at::Tensor padded = at::randint(4, {3, 5, 6}, at::kLong).masked_fill(at::rand({3, 5, 6}) < 0.3, -100);
  CHECK(counted(map, {{"label", padded}}, {{"ignore_index", std::int64_t{2}}}) ==
        counted(map, {{"label", padded.masked_fill(padded.eq(2), -100)}}, {{"ignore_index", std::int64_t{-100}}}));
  const auto none = counted(map, {{"label", at::full({3, 5, 6}, -1, at::kLong)}}, {{"ignore_index", std::int64_t{-1}}});
  CHECK(none == std::pair(0.0, 0.0));

  // Each label of a mixed batch counts by its share.
  const at::Tensor second = at::tensor({-1, 0}, at::kLong), weight = at::tensor(0.75, at::kDouble);
  const auto mixed = counted(logits, {{"label", label}, {"second_label", second}, {"label_weight", weight}},
                             {{"ignore_index", std::int64_t{-1}}});
  const auto sum = [](const at::Tensor& labels) {
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -1).item<double>();
  };
  CHECK(mixed.second == 1.75);
  CHECK(mixed.first == doctest::Approx((0.75 * sum(label) + 0.25 * sum(second)) / 1.75));
  CHECK_FALSE(make_loss("cross_entropy")->counts());
  CHECK_THROWS_WITH_AS(make_loss("cross_entropy", {{"ignore_index", std::string("all")}}),
                       "test.toml:1:1: loss.ignore_index: must be an integer or \"none\", got \"all\"", UserError);
}

TEST_CASE("logits (B, K, L) that are a view of (B, L, K) have the loss and gradients of a copy") {
  at::manual_seed(6);
  const at::Tensor values = at::randn({4, 7, 11});
  const at::Tensor labels = at::randint(11, {4, 7}, at::kLong).masked_fill(at::rand({4, 7}) < 0.3, -100);
  for (const Values& keys :
       {Values{}, Values{{"ignore_index", std::int64_t{-100}}}, Values{{"label_smoothing", 0.1}}}) {
    const auto own = make_loss("cross_entropy", keys);
    const auto of = [&](bool copied) {
      const at::Tensor leaf = values.clone().requires_grad_();
      const at::Tensor view = leaf.transpose(1, 2);
      const at::Tensor loss = (*own)({{"logits", copied ? view.contiguous() : view}}, {{"label", labels}}).at("loss");
      loss.backward();
      return std::pair(loss.item<double>(), leaf.grad());
    };
    const auto [view, of_view] = of(false);
    const auto [copy, of_copy] = of(true);
    CHECK(view == doctest::Approx(copy).epsilon(1e-6));
    CHECK(at::allclose(of_view, of_copy, 1e-5, 1e-7));
  }
  CHECK_THROWS_WITH_AS((*make_loss("cross_entropy"))({{"logits", values.transpose(1, 2)}},
                                                     {{"label", labels.masked_fill(labels.eq(-100), 11)}}),
                       "a label is 11, but the net gives 11 logits per row, for the labels 0 to 10",
                       flowtrain::Mistake);
}

TEST_CASE("labels that the net has no logits for, or of another form, are named") {
  for (const std::string name : {"cross_entropy", "mse"}) {
    CAPTURE(name);
    try {
      loss(name, {{"label", at::tensor({0, 5}, at::kLong)}});
      FAIL("accepted");
    } catch (const flowtrain::Mistake& mistake) {
      CHECK(std::string(mistake.what()) == "a label is 5, but the net gives 3 logits per row, for the labels 0 to 2");
      CHECK(mistake.hint() == "make a net with as many logits as the data has classes; labels count from 0");
    }
    CHECK_THROWS_WITH_AS(loss(name, {{"label", at::zeros({3}, at::kLong)}}),
                         "logits have shape [2, 3] and label has [3], expected (B, K, …) and (B, …)",
                         flowtrain::Mistake);
  }
}

TEST_CASE("a net's own loss is its output of that name, one number") {
  const auto own = make_loss("output");
  const NamedTensors batch{{"label", label}};
  const at::Tensor given = at::full({1}, 2.5, at::kDouble).requires_grad_();
  const NamedTensors losses = (*own)({{"logits", logits}, {"loss", given}}, batch);
  CHECK(losses.size() == 1);
  CHECK(losses.at("loss").dim() == 0);
  CHECK((losses.at("loss").scalar_type() == at::kFloat));
  CHECK(losses.at("loss").item<double>() == 2.5);
  losses.at("loss").backward();
  CHECK(given.grad().item<double>() == 1);
  const auto summed = make_loss("output", {{"count", std::string("tokens")}});
  CHECK(summed->counts());
  const NamedTensors counted = (*summed)({{"loss", given}, {"tokens", at::full({1}, 5, at::kLong)}}, batch);
  CHECK(counted.at("loss").item<double>() == 0.5);
  CHECK(counted.at("count").item<double>() == 5);
  CHECK_THROWS_WITH_AS((*summed)({{"loss", given}}, batch), "no tensor named 'tokens'; there are: loss",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS((*own)({{"logits", logits}}, batch),
                       "loss output: the net gives no 'loss'; return a dict with 'loss' from the script's forward",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS((*own)({{"loss", logits}}, batch),
                       "loss output: the net's 'loss' has shape [2, 3], expected one number", std::invalid_argument);
}

TEST_CASE("a loss that cannot be made says why") {
  const UserError unknown = failure_of([] { make_loss("hinge"); });
  CHECK(std::string(unknown.what()) == "no loss is called 'hinge'");
  CHECK(unknown.hint() == "known: cornernet, cornernet_saccade, cross_entropy, ctc, mse, output");
  CHECK_THROWS_WITH_AS(make_loss("cross_entropy", {{"label_smoothing", 1.0}}),
                       doctest::Contains("loss.label_smoothing: must be from 0 to 0.999"), UserError);
  CHECK_THROWS_WITH_AS(make_loss("mse", {{"label_smoothing", 0.1}}), "test.toml:1:1: loss.label_smoothing: unknown key",
                       UserError);
  CHECK_THROWS_WITH_AS(loss("cross_entropy", {}), "no tensor named 'label'; there are: none", std::invalid_argument);
}

}  // namespace flowtrain::loss_test
