// Training steps on the device: as on the CPU, the same every time, and the same by way of graphs.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "nets/entries.h"
#include "nets/optim/scaler.h"
#include "sampling/core/mistake.h"
#include "stages/torch/diagnostics/memory_probe.h"
#include "stages/torch/readout.h"
#include "stages/torch/step/step_readout.h"
#include "tests/gpu/test_device.h"
#include "tests/support/parts.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::step_test {

using testing::test_device;

namespace {

struct Wish {
  std::string device = test_device().str();
  std::string optimizer = "sgd", amp = "off";
  double dropout = 0;
  bool graph = false;
  std::uint64_t asked_every = 1;  ///< iterations, for their metrics
};

struct Trained {
  std::vector<double> losses, norms;
  LearnerState state;
};

/// 20 iterations, with a rate that f32 holds exactly.
Trained trained(const Wish& wish) {
  testing::Tables tables;
  tables.net.set("dropout", wish.dropout, {});
  tables.take_optimizer(wish.optimizer);
  tables.train.set("amp", wish.amp, {});
  tables.train.set("cuda_graph", wish.graph, {});
  tables.optims.assign(1, tables.optim);
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {testing::layout}};
  spec.data.classes = 4;
  spec.data.class_names = {"a", "b", "c", "d"};
  spec.process.seed = 3;
  spec.process.device = wish.device;
  const auto learner = make_torch_learner(spec);
  const auto device = wish.device == "cpu" ? make_cpu_device() : testing::make_test_device();
  Slab slab(testing::layout, *device);
  Trained result;
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) {
    device->wait_host_free(0);
    testing::fill(slab, iteration, iteration == 8 ? 5 : 8);
    if (device->copies()) device->start_copy(0, slab.device(), slab.host(), testing::layout.bytes());
    const HyperParameters hyper{0.0625, 0.9, 1};
    learner->set_hyper(std::span(&hyper, 1));
    learner->forward_backward(slab, {});
    learner->finish_gradients();
    if (iteration % wish.asked_every == 0) {
      const StepStats done = learner->stats();
      result.losses.push_back(done.loss);
      result.norms.push_back(done.grad_norm);
      CHECK(done.deferred.steps == wish.asked_every - 1);
      CHECK(done.deferred.nonfinite == 0);
    }
    learner->update();
  }
  learner->copy_state(result.state);
  result.state.settle();
  return result;
}

bool same_bits(const Trained& a, const Trained& b) {
  if (a.losses != b.losses || a.norms != b.norms) return false;
  const auto same = [](const std::vector<StateTensor>& x, const std::vector<StateTensor>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](auto& one, auto& other) { return one.name == other.name && one.bytes == other.bytes; });
  };
  return same(a.state.model, b.state.model) && same(a.state.optim, b.state.optim);
}

}  // namespace

TEST_CASE("training is the CPU's, but for the order of sums") {
  for (const std::string optimizer : {"sgd", "adam", "adamw"}) {
    CAPTURE(optimizer);
    const Trained there = trained({.optimizer = optimizer}), here = trained({.device = "cpu", .optimizer = optimizer});
    for (std::size_t i = 0; i < here.losses.size(); ++i) {
      CHECK(there.losses[i] == doctest::Approx(here.losses[i]).epsilon(1e-3));
      CHECK(there.norms[i] == doctest::Approx(here.norms[i]).epsilon(1e-2));
    }
  }
}

TEST_CASE("training twice gives the same bits, with dropout and in each precision") {
  for (const std::string amp : {"off", "bf16", "fp16"}) {
    CAPTURE(amp);
    const Wish wish{.amp = amp, .dropout = 0.3};
    const bool same = same_bits(trained(wish), trained(wish));
    CHECK(same);
  }
}

TEST_CASE("metrics that are asked for now and then change nothing") {
  const Trained each = trained({.dropout = 0.3}), rarely = trained({.dropout = 0.3, .asked_every = 5});
  for (std::size_t i = 0; i < rarely.losses.size(); ++i) CHECK(rarely.losses[i] == each.losses[5 * i + 4]);
  for (std::size_t i = 0; i < each.state.model.size(); ++i)
    CHECK((each.state.model[i].bytes == rarely.state.model[i].bytes));
}

TEST_CASE("by way of graphs training gives the same bits") {
  SKIP_WITHOUT_GPU();
  for (const std::string& optimizer : nets::optimizers().names())
    for (const std::string amp : {"off", "bf16", "fp16"}) {
      CAPTURE(optimizer);
      CAPTURE(amp);
      const Wish plain{.optimizer = optimizer, .amp = amp, .dropout = 0.3};
      Wish graph = plain;
      graph.graph = true;
      const bool same = same_bits(trained(plain), trained(graph));
      CHECK(same);
    }
}

TEST_CASE("gradients that overflow leave the weights and halve the scale") {
  const at::Tensor w = at::ones({3}, test_device()).requires_grad_();
  const nets::NamedTensors parameters{{"w", w}};
  const auto optimizer = testing::make_optimizer({.name = "sgd", .lr = 0.5}, parameters);
  nets::GradScaler scaler(test_device());
  const auto step = [&](float gradient) {
    w.mutable_grad() = at::full({3}, gradient, test_device());
    const at::Tensor overflow = scaler.unscale(parameters);
    optimizer->step(overflow);
    scaler.update();
    Readout read;
    const auto scale = read.ask(scaler.state().at("scaler.scale")), found = read.ask(overflow), first = read.ask(w[0]);
    read.fetch();
    return std::array{read.one(scale), read.one(found), read.one(first)};
  };
  CHECK(step(65536) == std::array{65536., 0., 0.5});
  CHECK(step(INFINITY) == std::array{32768., 1., 0.5});
  CHECK(step(32768) == std::array{32768., 0., 0.});
}

TEST_CASE("of steps that nobody waited for the first that was not finite is known") {
  DeferredSteps steps;
  const auto there = [](float value) { return at::full({}, value, test_device()); };
  steps.add(10, there(1), there(2), {});
  steps.add(11, there(1), there(INFINITY), {});
  steps.add(12, there(NAN), there(1), {});
  Readout read;
  const auto kept = read.ask(steps.kept());
  read.fetch();
  const DeferredStats unread = steps.summary(read[kept]);
  CHECK(unread.steps == 3);
  CHECK(unread.nonfinite == 11);
  CHECK(std::isinf(unread.grad_norm));
}

TEST_CASE("a label that the net has no logit for is an error with its number, and the device goes on") {
  const at::Tensor logits = at::zeros({2, 3}, test_device());
  const at::Tensor label = at::tensor({0, 5}, at::kLong).to(test_device());
  for (const std::string name : {"cross_entropy", "mse"}) {
    const auto loss = testing::make_loss(name, {}, /*classes=*/6);
    CHECK_THROWS_AS((*loss)({{"logits", logits}}, {{"label", label}}), Mistake);
    CHECK(std::isfinite((*loss)({{"logits", logits}}, {{"label", at::zeros_like(label)}}).at("loss").item<double>()));
  }
}

TEST_CASE("the peak of memory is what work took; work that does not fit is told, and the device goes on") {
  SKIP_WITHOUT_GPU();
  const PeakMemory peak(test_device());
  const auto take = [](std::int64_t bytes) {
    return [bytes] { at::zeros({bytes}, at::device(test_device()).dtype(at::kByte)); };
  };
  constexpr std::int64_t test_bytes = std::int64_t{256} << 20;
  const auto took = peak.of(take(test_bytes));
  REQUIRE(took);
  CHECK(*took >= static_cast<std::uint64_t>(test_bytes));
  CHECK(*took < static_cast<std::uint64_t>(test_bytes) + (4u << 20));
  const auto left = PeakMemory::free_bytes(test_device());
  REQUIRE(left);
  CHECK_FALSE(peak.of(take(static_cast<std::int64_t>(*left) * 2)).has_value());
  CHECK(peak.of(take(test_bytes)) == took);
}

}  // namespace flowtrain::step_test
