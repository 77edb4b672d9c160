#include "pipeline/engine/train/loader_tuning.h"

#include <doctest/doctest.h>

#include <set>

#include "pipeline/base/telemetry/log.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/fakes.h"

namespace flowtrain::loader_tuning_test {

using namespace flowtrain::testing;

TEST_CASE("a line is tuned between iterations until nothing more is to be tried, and delivers the same") {
  set_console_level(ConsoleLevel::quiet);
  const Scheduler scheduler(4);
  const FakeDataset dataset(100, 1, true);
  const FakeSampler sampler(1);
  const FakeOrder order(100, 3);
  const auto device = make_cpu_device();
  LoaderParts parts{"train", dataset, order, sampler, *device, Batches(100, 4, LastBatch::wrap)};
  parts.batch = 4;
  Loader line(std::move(parts));
  ScriptedLearner learner;
  Tuner::Limits limits;
  limits.most = {4, 1, 6};
  limits.most_threads = 4;
  limits.shares_cores = true;
  Tuner tuner({line.shape(), 4}, limits);
  LoaderTuning tuning(&tuner, line, learner);
  line.start();
  std::set<unsigned> shapes;
  for (std::uint64_t batch = 0; !tuner.settled(); ++batch) {
    REQUIRE(batch < 10'000);
    Ticket ticket;
    REQUIRE(line.next(ticket));
    CHECK(ticket.iteration == batch + 1);
    CHECK(line.slab(ticket).rows()[0].id == order.at(batch / 25, batch % 25 * 4));
    line.release(ticket);
    tuning.after_iteration({0.5, 0.5}, {});
    shapes.insert(line.shape().workers * 100 + line.shape().prefetch);
  }
  CHECK(shapes.size() > 1);
  const auto calls = learner.take_calls();
  CHECK_FALSE(calls.empty());
  tuning.after_iteration({0.5, 0.5}, {});  // nothing more
  CHECK(learner.take_calls().empty());
  LoaderTuning(nullptr, line, learner).after_iteration({1, 1}, {});
}

}  // namespace flowtrain::loader_tuning_test
