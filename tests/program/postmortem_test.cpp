// One of two ranks is killed where it is known to be: `flowtrain postmortem` names the rank and the place.

#include <doctest/doctest.h>

#include <fstream>
#include <optional>

#include "sampling/core/text.h"
#include "tests/program/ranks.h"
#include "tests/support/fault_points.h"

namespace flowtrain::postmortem_test {

namespace {

const fs::path run = "run";

nlohmann::json postmortem(const TempRun& place, const Words& more = {}) {
  const auto outcome = place.run(with({"postmortem", "run", "--json"}, more));
  REQUIRE_EXIT(outcome, 0);
  return nlohmann::json::parse(outcome.out);
}

/// A job of two ranks with `more` in its command line, which has begun to train.
class Job {
 public:
  explicit Job(const TempRun& place, const Words& more)
      : place_(place),
        process_(with({"tiny.toml", "--distributed", "--world-size", "2", "--run-dir", "run", "--max-iter", "1000000",
                       "--set", "display.every=1"},
                      more),
                 place.process_options()) {
    REQUIRE(process_.wait_for_text("\"train\"", place.path("run/metrics.jsonl")));
  }

  void send(int rank, int signal) const { ::kill(rank_process("run", rank), signal); }
  template <class Condition>
  void wait_for(Condition condition) {
    REQUIRE(process_.wait_for(condition));
  }
  /// Kills a rank; what `postmortem` says once the job has ended.
  nlohmann::json kill(int victim, std::optional<int> stopped = {}) {
    send(victim, SIGKILL);
    if (stopped) send(*stopped, SIGCONT);
    const auto outcome = process_.wait();
    CHECK_EXIT(outcome, 6);
    CHECK_SAYS(outcome, concat("rank ", victim, " was killed by SIGKILL"));
    CHECK_SAYS(outcome, "/run` shows what each rank did last");
    return postmortem(place_);
  }

 private:
  const TempRun& place_;
  Process process_;
};

void check_names(const nlohmann::json& found, int victim, const std::string& part) {
  CAPTURE(found.at("sentence"));
  CHECK(found.at("rank") == victim);
  CHECK(found.at("ranks").at(static_cast<std::size_t>(victim)).at("state") == "gone");
  const std::string sentence = found.at("sentence");
  CHECK(sentence.find(concat("rank ", victim, " was killed, or crashed, in ")) == 0);
  CHECK(sentence.find(part) != std::string::npos);
}

// While the other rank is stopped, the victim gets no farther than to a collective.
void kill_in_collective(int victim) {
  const TempRun place;
  Job job(place, {"--set", "val.every=0"});
  job.send(1 - victim, SIGSTOP);
  job.wait_for([&] {
    const auto found = postmortem(place).at("ranks").at(static_cast<std::size_t>(victim));
    return found.contains("collective") && found["collective"].at("inside") == true && found.at("for_s") > 0.2;
  });
  check_names(job.kill(victim, 1 - victim), victim, "in the collective `");
}

void kill_in_read() {
  std::string config = tiny_config;
  const std::string shapes = "dataset = \"shapes\"\nsamples = 300\nval_samples = 40\nsize = 16\n";
  config.replace(config.find(shapes), shapes.size(), "dataset = \"stuck_read\"\n");
  const TempRun place(with_plugins({"stuck_read"}, config));
  Job job(place, {"--set", "val.every=0"});
  place.folder().write("marker", "");
  const auto taken = place.path("marker.taken");
  job.wait_for([&] { return read_text(taken).ends_with('\n'); });
  int process = 0;
  std::uint64_t sample = 0;
  std::ifstream(taken) >> process >> sample;
  const int victim = process == rank_process("run", 0) ? 0 : 1;
  // It is told while the run goes on, too.
  const std::string stuck = concat("`read` of sample ", sample, " (grey #", sample, ")");
  nlohmann::json found;
  job.wait_for([&] {
    found = postmortem(place);
    return found.at("for_s") > 1.5;
  });
  CAPTURE(found.at("sentence"));
  CHECK(found.at("rank") == victim);
  const std::string sentence = found.at("sentence");
  CHECK(sentence.find(concat("rank ", victim, " is stuck in ", stuck, " for ")) == 0);
  CHECK(sentence.find(concat("rank ", 1 - victim, " waits for it in the collective `")) != std::string::npos);
  check_names(job.kill(victim), victim, stuck);
}

bool writes_snapshot(const TempRun& place) {
  std::error_code error;
  for (fs::directory_iterator each(place.path("run/snapshots"), error), end; !error && each != end;
       each.increment(error))
    if (each->path().filename().string().find(".tmp-") != std::string::npos) return true;
  return false;
}

// Rank 0 writes snapshots. It is stopped, so that it is known to be at one.
void kill_in_snapshot() {
  const TempRun place;
  Job job(place, {"--set", "net.hidden=[1024, 1024]", "--set", "snapshot.every=1", "--set", "val.every=0"});
  job.wait_for([&] {
    if (!writes_snapshot(place)) return false;
    job.send(0, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until all its threads have stopped
    if (writes_snapshot(place)) return true;
    job.send(0, SIGCONT);
    return false;
  });
  check_names(job.kill(0), 0, "`snapshot file");
}

// A validation follows the first iteration, and takes longer than the test does.
void kill_in_validation(int victim) {
  const TempRun place;
  Job job(place, {"--set", "val.every=1", "--set", "data.val_samples=200000", "--set", "val.batch=4"});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // from the line of metrics to the validation
  const auto found = job.kill(victim);
  CHECK(metrics_of(place.path("run"), "val").empty());
  check_names(found, victim, "`validation");
}

template <class Kill>
void at_points(const std::string& what, Kill kill) {
  FaultPoints points(what);
  for (const std::uint64_t point : points.each(5)) {
    INFO(points.repeat(point));
    kill(static_cast<int>(point % 2));
    points.count();
  }
  points.finish();
}

}  // namespace

TEST_CASE("postmortem names a rank that was killed in a collective" * points_sampled) {
  at_points("ranks killed in a collective", kill_in_collective);
}

TEST_CASE("postmortem names a rank and its sample where it is killed in a read, and before, while it hangs there" *
          points_sampled) {
  at_points("ranks killed in a read", [](int) { kill_in_read(); });
}

TEST_CASE("postmortem names a rank that was killed while it wrote a snapshot" * points_sampled) {
  at_points("ranks killed in a snapshot", [](int) { kill_in_snapshot(); });
}

TEST_CASE("postmortem names a rank that was killed in a validation" * points_sampled) {
  at_points("ranks killed in a validation", kill_in_validation);
}

TEST_CASE("postmortem of a run that has ended, of one that was resumed, and of no run") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--quiet", "--run-dir", "run", "--max-iter", "20"}), 0);
  auto found = postmortem(place);
  CHECK(found.at("sentence") == "the run ended without an error, after iteration 20");
  CHECK(found.at("rank").is_null());
  REQUIRE_EXIT(place.train({"--quiet", "--run-dir", "run", "--max-iter", "30", "--resume", "auto"}), 0);
  CHECK(postmortem(place).at("ranks").at(0).at("iteration") == 30);
  CHECK(postmortem(place, {"--former"}).at("ranks").at(0).at("iteration") == 20);
  const auto text = place.run({"postmortem", "run", "--seconds", "100"});
  CHECK_EXIT(text, 0);
  CHECK_PRINTS(text, "the run ended without an error, after iteration 30");
  const auto none = place.run({"postmortem", "nowhere"});
  CHECK_EXIT(none, 3);
  CHECK_SAYS(none, "no flight record in nowhere/flight");
  place.folder().write("run/flight/rank-0.bin", "no record");
  const auto damaged = place.run({"postmortem", "run"});
  CHECK_EXIT(damaged, 3);
  CHECK_SAYS(damaged, "run/flight/rank-0.bin: this is not a flight record");
}

TEST_CASE("a flight record that cannot be made is one warning") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--quiet", "--run-dir", "run", "--max-iter", "5"}), 0);
  fs::remove_all(place.path("run/flight"));
  place.folder().write("run/flight", "a file");
  const auto outcome = place.train({"--run-dir", "run", "--max-iter", "10", "--resume", "auto"});
  CHECK_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "warning: no flight record, ");
  CHECK(times_in(outcome.err, "flight") == 2);
}

}  // namespace flowtrain::postmortem_test
