// A network between nodes, and what happens to it and to them: killed ranks, links that are cut for a moment or for
// ever, ranks that stand still.

#include "tests/program/distributed_stress/network.h"

#include "sampling/core/random.h"
#include "tests/support/fault_points.h"
#include "tests/support/skip.h"

namespace flowtrain::network_test {
namespace {

constexpr const char* no_namespaces = "no network namespaces here (they need root and iproute2)";
const Words endless{"--max-iter", "1000000", "--set", "dist.timeout=20", "--set", "snapshot.every=50"};

/// Two or three nodes that train, one of which is about to have an accident.
struct Accident {
  Accident(const Network& network, Stream& random, const std::string& run)
      : nodes(2 + static_cast<int>(random.below(2))),
        victim(static_cast<int>(random.below(static_cast<std::uint64_t>(nodes)))),
        job(place, network, nodes, run, endless) {
    job.wait_for_training();
    std::this_thread::sleep_for(std::chrono::milliseconds(3000 + random.below(500)));
  }

  TempRun place;
  int nodes, victim;
  Job job;
};

/// All nodes ended by themselves, and each said why on its own terminal.
void check_ends(const std::vector<Outcome>& ends, const std::string& name) {
  for (std::size_t node = 0; node < ends.size(); ++node) {
    CAPTURE(node);
    CHECK_EXIT(ends[node], 6);
    CHECK_SAYS(ends[node], name);
  }
}

}  // namespace

TEST_CASE("two and three nodes train as one process does") {
  const Network network(3);
  SKIP_UNLESS(network.is_made(), "namespaces", no_namespaces);
  const TempRun place;
  REQUIRE_EXIT(train(place, 1, "one"), 0);
  for (int nodes : {2, 3}) {
    const std::string run = "nodes-" + std::to_string(nodes);
    const Job job(place, network, nodes, run, {});
    for (auto& end : job.wait(600)) CHECK_EXIT(end, 0);
    CHECK(end_of(place.path(run)).order == end_of(place.path("one")).order);
    CHECK(difference(place, "one", run) < 1e-5);
  }
}

TEST_CASE("a rank is killed: all nodes name it, and what it did last" * points_sampled) {
  const Network network(3);
  SKIP_UNLESS(network.is_made(), "namespaces", no_namespaces);
  FaultPoints points("ranks killed on nodes");
  double longest_s = 0;
  for (const std::uint64_t point : points.each(15 * times())) {
    INFO(points.repeat(point));
    points.count();
    Stream random(9, Purpose::init, point);
    const Accident accident(network, random, "killed");
    const auto& [place, nodes, victim, job] = accident;
    CAPTURE(accident.nodes);
    CAPTURE(accident.victim);
    const auto begin = std::chrono::steady_clock::now();
    job.send(victim, SIGKILL);
    const auto ends = job.wait();
    longest_s = std::max(longest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    for (std::size_t node = 0; node < ends.size(); ++node) {
      CAPTURE(node);
      CHECK_EXIT(ends[node], 6);
      const bool own = static_cast<int>(node) == victim;
      CHECK_SAYS(ends[node], "rank " + std::to_string(victim) + (own ? " was killed by SIGKILL" : " on "));
      if (!own) CHECK_SAYS(ends[node], " was killed by SIGKILL, last seen at iteration ");
    }
  }
  MESSAGE("the longest end took " << longest_s << " s");
  points.finish();
}

TEST_CASE("a link is cut for a second: nothing is lost" * points_sampled) {
  const Network network(2);
  SKIP_UNLESS(network.is_made(), "namespaces", no_namespaces);
  const TempRun place;
  const Words run = with(endless, {"--set", "dist.timeout=40"});
  Stream random(10, Purpose::init, 0);
  const Job job(place, network, 2, "cut", run);
  job.wait_for_training();
  FaultPoints points("links cut for a second");  // of one job, so none can be repeated alone
  const std::uint64_t cuts = points.least() * times();
  for (std::uint64_t i = 0; i < cuts; ++i) {
    const int node = static_cast<int>(random.below(2));
    network.cut(node);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    network.mend(node);
    std::this_thread::sleep_for(std::chrono::milliseconds(500 + random.below(500)));
  }
  job.send(1, SIGTERM);
  for (auto& end : job.wait()) CHECK_EXIT(end, 143);
  const std::uint64_t last = metrics_of(place.path("cut"), "snapshot").back().at("iter");
  const Words as_far{"--max-iter", std::to_string(last)};
  const auto resumed = train(place, 2, "cut", with(as_far, {"--resume", "auto"})),
             straight = train(place, 2, "straight", as_far);
  CHECK_EXIT(resumed, 0);
  CHECK_EXIT(straight, 0);
  CHECK(end_of(place.path("cut")) == end_of(place.path("straight")));
  points.count(cuts);
  points.finish();
}

TEST_CASE("a link is cut for ever: both sides end, and one line of snapshots is left" * points_sampled) {
  const Network network(3);
  SKIP_UNLESS(network.is_made(), "namespaces", no_namespaces);
  FaultPoints points("links cut for ever");
  for (const std::uint64_t point : points.each(10 * times())) {
    INFO(points.repeat(point));
    points.count();
    Stream random(11, Purpose::init, point);
    const Accident accident(network, random, "split");
    const auto& [place, nodes, victim, job] = accident;
    CAPTURE(accident.nodes);
    CAPTURE(accident.victim);
    network.cut(victim);
    const auto ends = job.wait();
    network.mend(victim);
    for (std::size_t node = 0; node < ends.size(); ++node) {
      CAPTURE(node);
      CHECK_EXIT(ends[node], 6);
      CHECK_SAYS(ends[node], "rank ");
      const bool apart = (static_cast<int>(node) == victim) || victim == 0;
      if (node != 0 && apart)
        CHECK_SAYS(ends[node], "cut off");
      else if (victim != 0)
        CHECK_SAYS(ends[node], "rank " + std::to_string(victim) + " on ");
    }
    // What is left is the newest whole snapshot of one run, and it can be gone on from.
    REQUIRE_EXIT(place.run({"snapshot", "verify", "split"}), 0);
  }
  points.finish();
}

TEST_CASE("a rank stands still: all nodes name it") {
  const Network network(3);
  SKIP_UNLESS(network.is_made(), "namespaces", no_namespaces);
  for (int victim : {0, 1, 2}) {
    CAPTURE(victim);
    const TempRun place;
    const Job job(place, network, 3, "still", endless);
    job.wait_for_training();
    std::this_thread::sleep_for(std::chrono::seconds(3));  // some heartbeats
    job.send(victim, SIGSTOP);
    const auto ends = job.wait();
    check_ends(ends, "rank " + std::to_string(victim));
    for (auto& end : ends) CHECK_SAYS(end, " does not answer any more, last seen at iteration ");
  }
}

}  // namespace flowtrain::network_test
