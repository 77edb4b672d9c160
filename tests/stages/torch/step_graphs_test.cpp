// train.cuda_graph with graphs that, in place of a GPU's, call again what they were told to keep.

#include "stages/torch/step_graphs.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <stdexcept>

#include "sampling/warning.h"
#include "tests/stages/torch/tiny_learner.h"

using namespace flowtrain;
using testing::fill;
using testing::layout;
using testing::Tables;

namespace {

std::vector<std::string> warnings;

struct Counts {
  int captured = 0, replayed = 0;
  bool fails = false;
};

/// The first of a pair runs as it is captured, so that there are tensors, as there would be in a graph's memory.
class CalledAgain final : public WorkGraph {
 public:
  CalledAgain(Counts& counts, bool runs) : counts_(counts), runs_(runs) {}
  void capture(const std::function<void()>& work) override {
    if (counts_.fails) throw std::runtime_error("operation not permitted when stream is capturing\nand more");
    ++counts_.captured;
    work_ = work;
    if (runs_) work_();
  }
  void replay() override {
    ++counts_.replayed;
    work_();
  }

 private:
  Counts& counts_;
  bool runs_;
  std::function<void()> work_;
};

/// What twelve steps come to: losses and norms, and the state's bytes. The rate changes every step; batch 8 is a short
/// one.
std::string trained(Learner& learner, double momentum_after_nine) {
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  std::string seen;
  for (std::uint64_t iteration = 1; iteration <= 12; ++iteration) {
    fill(slab, iteration, iteration == 8 ? 5 : 8);
    const Rates rates{0.1 / static_cast<double>(iteration), iteration > 9 ? momentum_after_nine : 0.9, 1};
    learner.set_rates(std::span(&rates, 1));
    learner.backward(slab);
    const StepResult done = learner.result();
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
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    CAPTURE(name);
    Tables tables;
    tables.optim.set("name", name, {});
    tables.optim.set("momentum", name == "sgd" ? 0.9 : 0.0, {});
    Counts counts;
    const auto graphs = [&] { return std::make_unique<CalledAgain>(counts, counts.captured % 2 == 0); };
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

TEST_CASE("where a step cannot be captured it is made as ever, and a line says why") {
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const std::string said = "train.cuda_graph: steps are made as without it: ";
  {
    Tables tables;
    Counts counts{.fails = true};
    warnings.clear();
    const bool same = trained(*tables.learner([&] { return std::make_unique<CalledAgain>(counts, true); }), 0.9) ==
                      trained(*tables.learner({}), 0.9);
    CHECK(same);
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
    const auto learner = tables.learner([&] { return std::make_unique<CalledAgain>(counts, true); });
    learner->backward(slab);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings.front() == said + "train.accum is more than 1");
    CHECK(counts.captured == 0);
  }
  set_warning_sink(nullptr);
}
