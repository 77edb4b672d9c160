// Gradients are exchanged between processes; a group of one process counts the exchanges of a step.

#include "stages/torch/parallel/data_parallel.h"

#include <torch/types.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "stages/torch/readout.h"

namespace flowtrain::data_parallel_test {

namespace {

/// A backend of one process: what it is given is the result.
class Lone final : public c10d::Backend {
 public:
  Lone() : Backend(0, 1) {}
  const std::string getBackendName() const override { return "lone"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions&) override {
    ++sums;
    for (auto& tensor : tensors) sent.push_back(tensor.clone());
    return done(tensors);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions&) override {
    return done(tensors);
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& all, std::vector<at::Tensor>& own,
                                           const c10d::AllgatherOptions&) override {
    all.at(0).at(0).copy_(own.at(0));
    return done(own);
  }

  int sums = 0;
  std::vector<at::Tensor> sent;  ///< to be summed up

 private:
  static c10::intrusive_ptr<c10d::Work> done(const std::vector<at::Tensor>& tensors) {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    future->markCompleted(c10::IValue(tensors));
    return c10d::Work::create_from_future(future);
  }
};

StepFlags flag(Flag flag) {
  StepFlags flags;
  flags[flag] = 1;
  return flags;
}

/// Two parameters that learn, and their exchange.
struct TrainerFixture {
  explicit TrainerFixture(const DataParallelOptions& options = {})
      : parallel(group, {{"a", a}, {"b", b}}, 1, options) {}

  /// `accum` micro-batches, whose gradients are 1, 2, … for a, and likewise for b where that takes part.
  void iterate(int accum, bool with_b = true) {
    a.mutable_grad().reset();
    b.mutable_grad().reset();
    lone->sent.clear();
    for (int i = 0; i < accum; ++i) {
      parallel.begin(i == 0, i + 1 == accum);
      const at::Tensor loss = (i + 1) * (with_b ? a.sum() + weight_of_b * b.sum() : a.sum());
      parallel.backward(loss, loss.detach().reshape({1}), 1, flag(Flag::interrupted));
      if (i + 1 < accum) CHECK(lone->sums == before);  // nothing leaves before the last
    }
    exchanges = lone->sums - std::exchange(before, lone->sums);
  }

  /// Of the last iteration.
  StepFlags flags() {
    Readout read;
    const auto flags = read.ask(parallel.flags());
    read.fetch();
    return parallel.stats(read[flags]).flags;
  }

  at::Tensor a = torch::ones({3}).requires_grad_(), b = torch::ones({5}).requires_grad_();
  c10::intrusive_ptr<Lone> lone = c10::make_intrusive<Lone>();
  TorchGroup group{[this] {
                     auto processes =
                         c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), 0, 1);
                     processes->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::CUSTOM, lone);
                     return processes;
                   }(),
                   std::make_shared<CollectiveLog>()};
  DataParallel parallel;
  double weight_of_b = 1;
  int before = lone->sums, exchanges = 0;
};

}  // namespace

TEST_CASE("micro-batches are exchanged once an iteration") {
  TrainerFixture world;
  for (int iteration = 0; iteration < 3; ++iteration) {
    world.iterate(4);
    CHECK(world.exchanges == 1);  // of one bucket
    CHECK(world.a.grad().equal(torch::full({3}, 10.0)));
    CHECK(world.parallel.scalars().item<double>() == 8 * 10);
    CHECK(world.flags()[Flag::interrupted] == 1);  // flags go with the last
    world.iterate(1);
    CHECK(world.exchanges == 1);
  }
}

TEST_CASE("a parameter without a gradient is named, unless that may be") {
  TrainerFixture strict;
  strict.iterate(1);
  try {
    strict.iterate(2, false);
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(std::string(error.what()) == "parameters that take no part in the loss: b");
    CHECK(error.hint().starts_with("set dist.find_unused = true"));
  }
  TrainerFixture lenient({.find_unused = true});
  for (int i = 0; i < 3; ++i) {
    lenient.iterate(2, false);
    CHECK(lenient.a.grad().equal(torch::full({3}, 3.0)));
  }
}

// What three or more processes' values sum up to depends on their places, and a resumed run begins with its first
// iteration.
TEST_CASE("the first iteration sends its gradients in the same places as all later ones") {
  for (const bool find_unused : {false, true})
    for (const double bucket_mb : {25.0, 1e-6}) {
      CAPTURE(find_unused);
      CAPTURE(bucket_mb);
      DataParallelOptions options;
      options.find_unused = find_unused;
      options.bucket_mb = options.first_bucket_mb = bucket_mb;
      TrainerFixture world(options);
      world.weight_of_b = 2;
      world.iterate(1);
      const auto first = world.lone->sent;
      for (int i = 0; i < 3; ++i) {
        world.iterate(1);
        REQUIRE(world.lone->sent.size() == first.size());
        for (std::size_t bucket = 0; bucket < first.size(); ++bucket)
          CHECK(world.lone->sent[bucket].equal(first[bucket]));
      }
    }
}

}  // namespace flowtrain::data_parallel_test
