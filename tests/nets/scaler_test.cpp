#include "nets/optim/scaler.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

#include "tests/support/parts.h"

namespace flowtrain::scaler_test {

using namespace flowtrain::nets;
using flowtrain::testing::OptimizerOf;

namespace {

double scale_of(const GradScaler& scaler) { return scaler.state().at("scaler.scale").item<double>(); }

}  // namespace

TEST_CASE("gradients that are not finite leave all as it is and halve the scale") {
  for (const std::string& name : optimizers().names()) {
    const at::Tensor w = at::ones({3}).requires_grad_();
    const NamedTensors parameters{{"w", w}};
    OptimizerOf of{.name = name};
    if (name == "sgd") of.keys = {{"momentum", 0.9}};
    const auto optimizer = make_optimizer(of, parameters);
    GradScaler scaler(at::kCPU);
    CHECK(scale_of(scaler) == 65536);
    CHECK(scaler.scaled(at::ones({})).item<double>() == 65536);

    w.mutable_grad() = at::full({3}, 65536.0F);
    CHECK(scaler.unscale(parameters).item<double>() == 0);
    CHECK(w.grad()[0].item<double>() == 1);
    optimizer->step(scaler.unscale({}));
    scaler.update();
    const at::Tensor before = w.detach().clone();
    CHECK_FALSE(before[0].item<double>() == 1);

    w.mutable_grad() = at::full({3}, std::numeric_limits<float>::infinity());
    const at::Tensor found = scaler.unscale(parameters);
    CHECK(found.item<double>() == 1);
    optimizer->step(found);
    scaler.update();
    CHECK(at::equal(w.detach(), before));
    CHECK(scale_of(scaler) == 32768);
    for (const auto& [slot, tensor] : optimizer->state()) {
      CHECK_MESSAGE(at::isfinite(tensor).all().item<bool>(), slot);
      if (slot == "step.w") CHECK(tensor.item<double>() == 1);
    }
  }
}

TEST_CASE("the scale grows after 2,000 good updates, and its state is tensors") {
  GradScaler scaler(at::kCPU);
  for (int i = 0; i < 1999; ++i) scaler.update();
  CHECK(scale_of(scaler) == 65536);
  GradScaler resumed(at::kCPU);
  for (const auto& [name, tensor] : scaler.state()) resumed.state().at(name).copy_(tensor);
  resumed.update();
  CHECK(scale_of(resumed) == 131072);
}

TEST_CASE("a scaled loss is in single precision at least") {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    CAPTURE(type);
    GradScaler scaler(at::kCPU);
    const at::Tensor scaled = scaler.scaled(at::full({}, 3, type));
    CHECK(scaled.item<double>() == 3 * scale_of(scaler));
    CHECK((scaled.scalar_type() == (type == at::kDouble ? at::kDouble : at::kFloat)));
  }
}

TEST_CASE("gradients of a loss in half precision are finite from the first iteration on, however the scale grows") {
  GradScaler scaler(at::kCPU);
  at::Tensor w = at::ones({3}, at::kHalf).requires_grad_();
  for (int i = 0; i < 4100; ++i) {
    w.mutable_grad().reset();
    scaler.scaled(w.sum()).backward();
    REQUIRE(scale_of(scaler) == 32768);
    REQUIRE(scaler.unscale({{"w", w}}).item<double>() == 0);
    REQUIRE(at::equal(w.grad(), at::ones({3}, at::kHalf)));
    scaler.update();
  }
}

TEST_CASE("the losses of one iteration are scaled alike") {
  GradScaler scaler(at::kCPU);
  CHECK(scaler.scaled(at::ones({})).item<double>() == 65536);
  CHECK(scaler.scaled(at::ones({}, at::kHalf)).item<double>() == 65536);
  scaler.update();
  CHECK(scaler.scaled(at::ones({}, at::kHalf)).item<double>() == 32768);
}

}  // namespace flowtrain::scaler_test
