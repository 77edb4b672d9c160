// --profile: where the time went.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/program/ranks.h"
#include "tests/support/trace_check.h"

namespace flowtrain::profile_test {
namespace {

using nlohmann::json;

json trace_of(const fs::path& run) { return json::parse(read_text(run / "trace.json")); }

}  // namespace

TEST_CASE("a profile tells phases, operations and layers, and leaves the run as it is") {
  const TempRun place;
  const auto profiled = place.train({"--profile", "--run-dir", "profiled"});
  REQUIRE_EXIT(profiled, 0);
  for (auto text : {"profile: 50 iterations in", "10 others were recorded in detail", "phase ", "data ", "transfer ",
                    "forward ", "backward ", "gradients ", "optimizer ", "validation ", "snapshot ", "other ",
                    "operation, in iterations 11 to 20", "aten::addmm", "layer, with the operations after it",
                    "trace of 10 iterations"})
    CHECK_SAYS(profiled, text);
  CHECK(profiled.err.find("communication") == std::string::npos);
  REQUIRE_EXIT(place.train({"--run-dir", "plain"}), 0);
  CHECK(end_of(place.path("profiled")) == end_of(place.path("plain")));
  CHECK_FALSE(fs::exists(place.path("plain/trace.json")));
  CHECK(metrics_of(place.path("plain"), "profile").empty());

  const auto lines = metrics_of(place.path("profiled"), "profile");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("iter") == 60);
  CHECK_FALSE(lines[0].contains("rank"));
  double sum = 0;
  for (auto phase : {"data", "transfer", "forward", "backward", "communication", "gradients", "optimizer", "validation",
                     "snapshot", "other"}) {
    CHECK(lines[0].at(phase) >= 0);
    sum += lines[0].at(phase).get<double>();
  }
  CHECK(sum == doctest::Approx(1).epsilon(0.01));
  CHECK(lines[0].at("forward") > 0);
}

TEST_CASE("the trace has phases, operations with their layers, and the loader's threads, of the window alone") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--profile", "--run-dir", "run", "--set", "loader.readers=1"}), 0);
  std::map<std::string, int> times;
  std::set<std::string> categories, loading, layers;
  std::map<int, std::string> threads;
  std::map<int, double> phases_end;
  const json trace = trace_of(place.path("run"));
  const testing::TraceReader reader(trace);
  for (auto& fault : reader.content().faults) FAIL_CHECK(fault);
  for (auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") != "X") continue;
    ++times[event.at("name")];
    categories.insert(event.at("cat"));
    CHECK(event.at("dur") >= 0);
    const auto& arguments = event.at("args");
    if (event.at("cat") == "loader") {
      // A validation computes within the compute thread's phase of that name.
      if (event.at("name") != "val forward") loading.insert(threads.at(event.at("tid")));
    } else {
      CHECK(threads.at(event.at("tid")) != "ft-worker");
      CHECK(arguments.at("iteration") >= 11);
      CHECK(arguments.at("iteration") <= 20);
    }
    if (arguments.contains("layer")) layers.insert(arguments.at("layer"));
  }
  CHECK(categories == std::set<std::string>{"backward", "loader", "forward", "operation", "phase"});
  for (auto phase : {"transfer", "forward", "backward", "optimizer"}) CHECK(times[phase] == 10);
  CHECK(times["validation"] == 1);       // after iteration 20, before the next one begins
  CHECK(times["snapshot"] == 2);         // after 14, and that of the best validation so far
  CHECK(times["AddmmBackward0"] == 40);  // two layers, each as what autograd evaluates and as its function
  CHECK(times["train sample"] > 0);
  CHECK(std::ranges::any_of(threads, [](auto& thread) { return thread.second == "compute"; }));
  // Whether a worker of oneTBB or the thread that waits for the graph takes a chunk is left to chance.
  CHECK_FALSE(loading.empty());
  const std::set<std::string> known{"ft-read", "ft-train", "ft-val", "ft-worker"};
  CHECK(std::ranges::includes(known, loading));
  CHECK(layers.size() == 2);  // of the net, which has one hidden layer
  for (auto name : {"train slabs in use", "train batches ready", "val slabs in use", "val batches ready"})
    CHECK(reader.content().counters.contains(name));
  CHECK(times["val forward"] > 0);
  // Each batch, also those that were sampled before the window.
  std::set<int> sampled, trained;
  for (auto& flow : reader.content().flows) {
    const int iteration = flow.front().arguments.value("iteration", 0);  // of validations unknown
    if (flow.front().name == "train sample" && flow.back().name == "transfer") sampled.insert(iteration);
    if (flow.front().name == "transfer" && flow.back().name == "backward") trained.insert(iteration);
  }
  CHECK(sampled.size() == 10);
  CHECK(trained == sampled);
}

TEST_CASE("an interrupted run, and one that leaves nothing behind, tell their profile too") {
  const TempRun place;
  Process run({"tiny.toml", "--profile", "--run-dir", "run", "--max-iter", "100000000", "--set", "val.every=0", "--set",
               "snapshot.every=0"},
              place.process_options());
  REQUIRE(run.wait_for_text("iter 50/"));
  run.send(SIGINT);
  const auto interrupted = run.wait();
  CHECK_EXIT(interrupted, 130);
  CHECK_SAYS(interrupted, "operation, in iterations 11 to 20");
  const std::string last = interrupted.err.substr(interrupted.err.rfind('\n', interrupted.err.size() - 2) + 1);
  CHECK(last.find("to go on: ") != last.npos);
  CHECK(last.find("flowtrain ") != last.npos);
  CHECK(last.ends_with("run\n"));
  CHECK(fs::exists(place.path("run/trace.json")));

  const auto fast = place.train({"--profile", "--fast-dev-run"});
  REQUIRE_EXIT(fast, 0);
  CHECK_SAYS(fast, "operation, in iterations 2 to 2");
  const auto dry = place.train({"--profile", "--dry-run", "--max-iter", "8"});
  REQUIRE_EXIT(dry, 0);
  CHECK_SAYS(dry, "data ");
  CHECK_FALSE(fs::exists(place.path("runs")));
}

TEST_CASE("of several processes each has its profile, and who needs most for a phase is named") {
  const TempRun place;
  const auto both =
      place.train({"--profile", "--run-dir", "run", "--distributed", "--world-size", "2", "--max-iter", "40"});
  REQUIRE_EXIT(both, 0);
  for (auto text : {"communication ", "  most: ", ", rank "}) CHECK_SAYS(both, text);
  const auto lines = metrics_of(place.path("run"), "profile");
  REQUIRE(lines.size() == 2);
  for (int rank : {0, 1}) {
    CHECK(lines[rank].at("rank") == rank);
    CHECK(lines[rank].at("iter") == 40);
    CHECK(lines[rank].at("forward") > 0);
    CHECK(lines[rank].at("communication") > 0);
  }
  CHECK(lines[0].at("forward") != lines[1].at("forward"));  // each one's own
  CHECK(read_text(place.path("run/logs/rank-1.log")).find("phase ") != std::string::npos);
  CHECK(fs::exists(place.path("run/trace.json")));
}

}  // namespace flowtrain::profile_test
