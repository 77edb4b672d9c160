// train.cuda_graph with graphs that, in place of a GPU's, call again what they were told to keep.

#include "stages/torch/step/step_graphs.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "nets/entries.h"
#include "sampling/core/warning.h"
#include "tests/stages/torch/kept_calls.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::step_graphs_test {

using testing::fill;
using testing::KeptCalls;
using testing::layout;
using testing::Tables;

namespace {

std::vector<std::string> warnings;

/// Which of the graphs cannot be captured, and when that comes out.
enum class Fails { never, before_work, after_work, at_update };

struct Counts {
  Fails fails = Fails::never;
  int captured = 0, replayed = 0;
  /// Operations that a GPU would have repeated as they were captured, while another iteration asks for others.
  std::vector<std::string> differing = {};
  /// Operations that wait for the device.
  std::set<std::string> waits = {};
};

/// Of a step's two graphs the first runs as it is captured, so that there are tensors, as there would be in a graph's
/// memory. A GPU repeats what it was asked for then: each repetition is compared with that.
class CalledAgain final : public WorkGraph {
 public:
  explicit CalledAgain(Counts& counts) : counts_(counts), runs_(counts.captured % 2 == 0) {}

  void capture(const std::function<void()>& work) override {
    if (counts_.fails == Fails::before_work) throw std::runtime_error(said_);
    ++counts_.captured;
    work_ = work;
    if (runs_) kept_ = asked_for();
    if (counts_.fails == (runs_ ? Fails::after_work : Fails::at_update)) throw std::runtime_error(said_);
  }

  void replay() override {
    ++counts_.replayed;
    const auto calls = asked_for();
    if (kept_.empty()) kept_ = calls;
    if (kept_.size() != calls.size()) counts_.differing.emplace_back("another number of operations");
    for (std::size_t i = 0; i < std::min(kept_.size(), calls.size()); ++i)
      if (kept_[i] != calls[i]) counts_.differing.push_back(kept_[i] + " then " + calls[i]);
  }

 private:
  std::vector<std::string> asked_for() {
    auto calls = KeptCalls::of(work_);
    counts_.waits.merge(KeptCalls::waits(calls));
    return calls;
  }

  static constexpr const char* said_ = "operation not permitted when stream is capturing\nand more";
  Counts& counts_;
  bool runs_;
  std::function<void()> work_;
  std::vector<std::string> kept_;
};

MakeWorkGraph called_again(Counts& counts) {
  return [&counts] { return std::make_unique<CalledAgain>(counts); };
}

/// What twelve steps come to: losses and norms, and the state's bytes. The rate changes every step; batch 8 is a short
/// one.
std::string trained(Learner& learner, double momentum_after_nine) {
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  std::string seen;
  for (std::uint64_t iteration = 1; iteration <= 12; ++iteration) {
    fill(slab, iteration, iteration == 8 ? 5 : 8);
    const HyperParameters hyper{0.1 / static_cast<double>(iteration), iteration > 9 ? momentum_after_nine : 0.9, 1};
    learner.set_hyper(std::span(&hyper, 1));
    learner.forward_backward(slab, {});
    learner.finish_gradients();
    const StepStats done = learner.stats();
    seen += std::to_string(done.loss) + " " + std::to_string(done.grad_norm) + "\n";
    learner.update();
  }
  LearnerState state;
  learner.copy_state(state);
  state.settle();
  for (auto* part : {&state.model, &state.optim})
    for (auto& tensor : *part) seen.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return seen;
}

}  // namespace

TEST_CASE("steps that are repeated are the steps that they were captured from") {
  for (const std::string& name : nets::optimizers().names()) {
    CAPTURE(name);
    Tables tables;
    tables.take_optimizer(name);
    Counts counts;
    const auto graphs = called_again(counts);
    const bool same = trained(*tables.learner(graphs), 0.9) == trained(*tables.learner({}), 0.9);
    CHECK(same);
    CHECK(counts.captured == 2);
    CHECK(counts.replayed == 2 * 8);  // three to warm up, one of another form

    // Captured anew where it must be.
    counts = {};
    const bool still = trained(*tables.learner(graphs), 0.5) == trained(*tables.learner({}), 0.5);
    CHECK(still);
    CHECK(counts.captured == 4);
    CHECK(counts.replayed == 2 * 8);
  }
}

TEST_CASE("what is captured of a step asks for the same in every iteration, and waits for nothing") {
  for (const std::string& name : nets::optimizers().names())
    for (const std::string clip_by : {"norm", "value", "adaptive"})
      for (const std::string amp : {"off", "fp16"}) {
        CAPTURE(name);
        CAPTURE(clip_by);
        CAPTURE(amp);
        Tables tables;
        tables.take_optimizer(name);
        tables.train.set("clip_by", clip_by, {});
        tables.train.set("amp", amp, {});
        Counts counts;
        trained(*tables.learner(called_again(counts)), 0.9);
        CHECK(counts.replayed == 2 * 8);
        CHECK(counts.differing == std::vector<std::string>());
        CHECK(counts.waits == std::set<std::string>());
      }
}

TEST_CASE("a loss that counts its terms is captured, and waits for nothing") {
  for (const std::string amp : {"off", "fp16"}) {
    Tables tables;
    tables.loss.set("ignore_index", std::int64_t{0}, {});
    tables.train.set("amp", amp, {});
    Counts counts;
    const bool same = trained(*tables.learner(called_again(counts)), 0.9) == trained(*tables.learner({}), 0.9);
    CHECK(same);
    CHECK(counts.replayed == 2 * 8);
    CHECK(counts.differing == std::vector<std::string>());
    CHECK(counts.waits == std::set<std::string>());
  }
}

TEST_CASE("a number of the host and a wait in captured work are seen") {
  const auto rate = [](double value) { return KeptCalls::of([value] { at::ones({2}).mul_(value); }); };
  CHECK(rate(0.1) == rate(0.1));
  CHECK(rate(0.1) != rate(0.2));
  const auto read = KeptCalls::of([] { at::ones({}).item<float>(); });
  CHECK(KeptCalls::waits(read).contains("aten::item"));
  CHECK(KeptCalls::waits(rate(0.1)).empty());
}

TEST_CASE("where a step cannot be captured it is made as ever, and a line says why") {
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const std::string said = "train.cuda_graph: steps run without a graph: ";
  for (const Fails fails : {Fails::before_work, Fails::after_work, Fails::at_update}) {
    CAPTURE(static_cast<int>(fails));
    Tables tables;
    Counts counts{.fails = fails};
    warnings.clear();
    const bool same = trained(*tables.learner(called_again(counts)), 0.9) == trained(*tables.learner({}), 0.9);
    CHECK(same);
    CHECK(counts.replayed == 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings.front() == said + "operation not permitted when stream is capturing");
  }
  {
    Tables tables;
    Counts counts;
    tables.train.set("accum", std::int64_t{2}, {});
    warnings.clear();
    const auto device = make_cpu_device();
    Slab slab(layout, *device);
    fill(slab, 1, 8);
    const auto learner = tables.learner(called_again(counts));
    learner->forward_backward(slab, {});
    REQUIRE(warnings.size() == 1);
    CHECK(warnings.front() == said + "train.accum is more than 1");
    CHECK(counts.captured == 0);
  }
  set_warning_sink(nullptr);
}

}  // namespace flowtrain::step_graphs_test
