// The cost of a step for one rank of many, beside the net: messages to the others, and work that grows with their
// number. The trainer is the real one; the group is one rank of a world whose others are only counted.

#include <doctest/doctest.h>

#include <map>

#include "pipeline/base/errors/bad_samples_of_all.h"
#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/sample_account.h"
#include "pipeline/engine/train/trainer.h"
#include "tests/scale/ranks.h"
#include "tests/support/fakes.h"

namespace flowtrain::step_test {

using namespace flowtrain::testing;

namespace {

/// One rank of `size`; the others add nothing, and say `theirs`.
class CountingGroup : public Group {
 public:
  CountingGroup(int rank, int size, std::string theirs = "[]") : rank_(rank), size_(size), theirs_(std::move(theirs)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(const char*, std::span<double> values) override { ++sums, sum_bytes += values.size_bytes(); }
  std::vector<std::string> gather(const char*, const std::string& mine) override {
    std::vector<std::string> all(static_cast<std::size_t>(size_), theirs_);
    all[static_cast<std::size_t>(rank_)] = mine;
    for (auto& each : all) longest = std::max(longest, each.size());
    return all;
  }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
  Group& beside() override { return *this; }

  std::uint64_t sums = 0, sum_bytes = 0;
  std::size_t longest = 0;

 private:
  int rank_, size_;
  std::string theirs_;
};

struct StepCost {
  double asked = 0;      ///< how often the order was asked, per step
  double wall_s = 0;     ///< of a step
  double sum_bytes = 0;  ///< of a displayed step's sums
  double sums = 0;
};

constexpr std::uint64_t own_rows = 64, steps = 40;

StepCost cost_of_a_step(int rank, int world) {
  const FakeDataset dataset(300'000, 1, true);
  const FakeSampler sampler(1);
  const FakeOrder shuffle(dataset.size(), 5);
  const CountingOrder order(shuffle);
  const auto device = make_cpu_device();
  RunPlan run_plan;
  run_plan.first = 1;
  run_plan.last = steps;
  LoaderParts parts{"scale", dataset,
                    order,   sampler,
                    *device, Batches(dataset.size(), own_rows * static_cast<std::uint64_t>(world), LastBatch::wrap)};
  parts.batch = own_rows;
  parts.iterations.first = run_plan.first;
  parts.iterations.last = run_plan.last;
  parts.iterations.plan = [&](std::uint64_t iteration) { return run_plan.plan(iteration); };
  parts.iterations.schedule = [&](Plan& plan) { plan.hyper = run_plan.hyper(plan.iteration); };
  parts.slice = {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(world)};
  Loader line(std::move(parts));
  IdleLearner learner;
  CountingGroup group(rank, world);
  BadSamples bad(dataset, {}, [](auto&) {});
  Display display(ProgressMode::off, steps, nullptr);
  TrainerParts trained{run_plan, line};
  trained.learner = &learner;
  trained.group = &group;
  trained.bad_samples = &bad;
  trained.reports.loggers.outlets.to = {&display};
  trained.reports.every = 1;
  Trainer trainer(trained, RunState{});
  const TrainerResult result = trainer.run();
  const auto per_step = [](std::uint64_t count) { return static_cast<double>(count) / steps; };
  return {per_step(order.asked()), result.wall_s / steps, per_step(group.sum_bytes), per_step(group.sums)};
}

}  // namespace

TEST_CASE("what a rank says in a displayed step grows with the number of ranks, and no faster") {
  const Scheduler scheduler(2);
  std::map<int, StepCost> costs;
  for (const int world : {2, 64, 4096})
    for (const int rank : {0, world - 1}) {
      const StepCost cost = cost_of_a_step(rank, world);
      costs[world] = cost;
      MESSAGE("rank " << rank << " of " << world << ", a displayed step of " << own_rows << " rows: " << cost.sums
                      << " sums of " << cost.sum_bytes << " bytes; the order asked " << cost.asked << " times; "
                      << cost.wall_s * 1e3 << " ms without a net");
    }
  CHECK(costs[4096].sums == costs[2].sums);
  CHECK(costs[4096].sum_bytes <= 64 * costs[64].sum_bytes);
}

TEST_CASE("news of bad samples grow with the number of ranks times the longest list") {
  const std::vector<BadSample> one{{0, 17, 17, 18, "read", std::string(80, 'x')}};
  for (const int world : {64, 4096}) {
    CountingGroup group(0, world);
    CHECK(bad_samples_of_all(group, one).size() == 1);
    // stages/torch/parallel/torch_group.cpp: a sum of the lengths, then as many bytes from each as the longest has.
    MESSAGE("one bad sample among " << world << " ranks: " << static_cast<std::size_t>(world) * (8 + group.longest)
                                    << " bytes to each rank");
  }
  CountingGroup group(0, 4096, R"([[0,1,2,3,"read","torn"]])");
  CHECK(bad_samples_of_all(group, one).size() == 4096);
}

}  // namespace flowtrain::step_test
