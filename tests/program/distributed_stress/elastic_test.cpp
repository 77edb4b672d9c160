// Runs that go on with other numbers of processes, again and again.

#include "sampling/core/random.h"
#include "tests/program/ranks.h"
#include "tests/support/fault_points.h"

namespace flowtrain::elastic_test {
namespace {

/// The losses by iteration, of those parts of a run that are in metrics.jsonl.
std::map<std::uint64_t, double> losses_of(const fs::path& run) {
  std::map<std::uint64_t, double> losses;
  for (auto& line : metrics_of(run, "train")) losses[line.at("iter")] = line.at("loss");
  return losses;
}

/// Stops after each of the iterations, and goes on with the next number of processes.
void check_schedule(const TempRun& place, const std::string& run, const std::vector<std::pair<int, int>>& schedule) {
  for (auto& [world, until] : schedule)
    REQUIRE_EXIT(train(place, world, run, {"--resume", "auto", "--max-iter", std::to_string(until)}), 0);
  CHECK(end_of(place.path(run)).order == end_of(place.path("straight")).order);
  CHECK(difference(place, "straight", run) < 1e-5);
  const auto losses = losses_of(place.path(run)), straight = losses_of(place.path("straight"));
  REQUIRE(losses.size() == straight.size());
  double worst = 0;
  for (auto& [iteration, loss] : straight) worst = std::max(worst, std::abs(losses.at(iteration) - loss) / loss);
  CHECK(worst < 1e-6);
}

}  // namespace

TEST_CASE("any schedule of world sizes gives the batches, the losses and the parameters of one process") {
  const TempRun place;
  REQUIRE_EXIT(train(place, 1, "straight"), 0);
  check_schedule(place, "elastic", {{1, 12}, {2, 24}, {4, 36}, {3, 48}, {1, 60}});
  FaultPoints points("world sizes");
  points.count(5);
  Stream random(6, Purpose::init, 0);
  for (std::uint64_t i = 1; i < times(); ++i) {
    std::vector<std::pair<int, int>> schedule;
    for (int until = 0; until < 60;) {
      points.count();
      until = std::min<int>(60, until + 5 + static_cast<int>(random.below(25)));
      schedule.emplace_back(1 + static_cast<int>(random.below(4)), until);
    }
    check_schedule(place, "elastic-" + std::to_string(i), schedule);
  }
  points.finish();
}

}  // namespace flowtrain::elastic_test
