#include "nets/scaler.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "nets/optimizer.h"

using namespace flowtrain::nets;

TEST_CASE("gradients that are not finite leave all as it is and halve the scale") {
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    const at::Tensor w = at::ones({3}).requires_grad_();
    const NamedTensors parameters{{"w", w}};
    const auto optimizer = make_optimizer({.name = name, .lr = 0.1, .momentum = 0.9}, parameters);
    GradScaler scaler(at::kCPU);
    CHECK(scaler.scale() == 65536);
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
    CHECK(scaler.scale() == 32768);
    for (const auto& [slot, tensor] : optimizer->state()) {
      CHECK_MESSAGE(at::isfinite(tensor).all().item<bool>(), slot);
      if (slot == "step.w") CHECK(tensor.item<double>() == 1);
    }
  }
}

TEST_CASE("the scale grows after 2,000 good updates, and its state is tensors") {
  GradScaler scaler(at::kCPU);
  for (int i = 0; i < 1999; ++i) scaler.update();
  CHECK(scaler.scale() == 65536);
  GradScaler resumed(at::kCPU);
  for (const auto& [name, tensor] : scaler.state()) resumed.state().at(name).copy_(tensor);
  resumed.update();
  CHECK(resumed.scale() == 131072);
}

TEST_CASE("a scaled loss is in single precision at least") {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    CAPTURE(type);
    GradScaler scaler(at::kCPU);
    const at::Tensor scaled = scaler.scaled(at::full({}, 3, type));
    CHECK(scaled.item<double>() == 3 * scaler.scale());
    CHECK((scaled.scalar_type() == (type == at::kDouble ? at::kDouble : at::kFloat)));
  }
}

TEST_CASE("gradients of a loss in half precision are finite from the first iteration on") {
  GradScaler scaler(at::kCPU);
  at::Tensor w = at::ones({3}, at::kHalf).requires_grad_();
  for (const double before : {65536., 32768., 131072., 1024.}) {
    scaler.state().at("scaler.scale").fill_(before);
    scaler.begin_iteration();
    w.mutable_grad().reset();
    scaler.scaled(w.sum()).backward();
    CHECK(scaler.scale() == std::min(before, 32768.));
    CHECK(scaler.unscale({{"w", w}}).item<double>() == 0);
    CHECK(at::equal(w.grad(), at::ones({3}, at::kHalf)));
  }
}

TEST_CASE("the losses of one iteration are scaled alike") {
  GradScaler scaler(at::kCPU);
  CHECK(scaler.scaled(at::ones({})).item<double>() == 65536);
  CHECK(scaler.scaled(at::ones({}, at::kHalf)).item<double>() == 65536);
  scaler.begin_iteration();
  CHECK(scaler.scaled(at::ones({}, at::kHalf)).item<double>() == 32768);
}
