// Ended from outside at random moments, many times: by kill -9 the run loses no more than since its last snapshot; by a
// signal that can be caught, nothing.

#include <doctest/doctest.h>

#include <functional>

#include "sampling/core/random.h"
#include "tests/support/fault_points.h"
#include "tests/support/temp_run.h"

namespace flowtrain::signals_test {
namespace {

// Snapshots all the time: most moments are within one.
const Words run_arguments{
    "tiny.toml", "--max-iter",           "2000", "--set", "snapshot.every=3", "--set", "val.every=150",
    "--set",     "run.grace_seconds=600"};

/// A configuration that learns to tell each next byte of texts that differ in length; `loader` has the form of rows.
std::string config_of_texts(const std::string& loader) {
  return with_plugins({"next_byte"},
                      "name = \"tiny\"\n[run]\nthreads = 1\n"
                      "[data]\ndataset = \"manifest\"\npath = \"texts.csv\"\nval_share = 0.1\n"
                      "[[field]]\nname = \"text\"\nfrom = \"text\"\nas = \"bytes\"\nmax = 64\n"
                      "[loader]\nworkers = 2\n" +
                          loader +
                          "[net]\nname = \"next_byte\"\n[loss]\nname = \"output\"\n[val]\nmetrics = []\n"
                          "[optim]\nlr = 0.05\nmomentum = 0.9\n[snapshot]\nkeep_last = 4\n[display]\nevery = 5\n");
}

/// Writes the texts that config_of_texts() reads.
void write_texts(const TempRun& place) {
  std::string table = "text\n";
  for (int row = 0; row < 300; ++row) {
    for (int i = 0; i <= row * 37 % 80; ++i) table += static_cast<char>('a' + (row + i * i) % 26);
    table += '\n';
  }
  place.folder().write("texts.csv", table);
}

/// Starts the run, or goes on with it, and sends `signal` up to 300 ms after its first new snapshot; 0: none.
Outcome end_at_random(const TempRun& place, int signal, Stream& random) {
  Process process(with(run_arguments, {"--resume", "auto"}), place.process_options());
  if (signal == 0) return process.wait();
  process.wait_for_text("snapshot runs");
  std::this_thread::sleep_for(std::chrono::milliseconds(random.below(300)));
  process.send(signal);
  return process.wait();
}

/// Ends runs by signals that `draw_signal` names, at as many moments as `points` asks for; each run that gets to its
/// end must be as one that nobody disturbed. `check` sees every run that was ended. A run is ended many times, so no
/// moment can be repeated alone.
void end_at_points(FaultPoints& points, std::uint64_t seed, const std::function<int(Stream&)>& draw_signal,
                   const std::function<void(const TempRun&, int, const Outcome&)>& check,
                   const std::string& config = tiny_config) {
  const TempRun straight(config), place(config);
  for (const auto* each : {&straight, &place}) write_texts(*each);
  REQUIRE_EXIT(straight.run(run_arguments), 0);
  Stream random(seed, Purpose::init, 0);
  for (int round = 0; points.tried() < points.least() * times(); ++round) {
    for (bool done = false; !done;) {
      const int signal = points.tried() < points.least() * times() ? draw_signal(random) : 0;
      const auto outcome = end_at_random(place, signal, random);
      done = outcome.code == 0;
      if (done) continue;
      points.count();
      check(place, signal, outcome);
    }
    CHECK(end_of(place.path("runs/tiny")) == end_of(straight.path("runs/tiny")));
    std::filesystem::rename(place.path("runs/tiny"), place.path("done-" + std::to_string(round)));
  }
  points.finish();
}

}  // namespace

TEST_CASE("kill -9 at random moments" * points_sampled) {
  FaultPoints points("kill -9 at random moments");
  end_at_points(
      points, 5, [](Stream&) { return SIGKILL; },
      [](const TempRun&, int, const Outcome& outcome) { REQUIRE_MESSAGE(outcome.signal == SIGKILL, outcome); });
}

TEST_CASE("kill -9 at random moments of runs whose rows differ in length" * points_sampled) {
  for (const auto& [form, loader] :
       {std::pair("bucketed", "budget = 600\n"), std::pair("packed", "pack = true\nbatch = 8\n")}) {
    CAPTURE(form);
    FaultPoints points(std::string("kill -9 of runs with rows that are ") + form);
    end_at_points(
        points, 7, [](Stream&) { return SIGKILL; },
        [](const TempRun&, int, const Outcome& outcome) { REQUIRE_MESSAGE(outcome.signal == SIGKILL, outcome); },
        config_of_texts(loader));
  }
}

TEST_CASE("a signal that asks for the end, at random moments" * points_sampled) {
  FaultPoints points("signals at random moments");
  const auto any = [](Stream& random) { return std::array{SIGTERM, SIGUSR1, SIGINT, SIGHUP}[random.below(4)]; };
  end_at_points(points, 6, any, [](const TempRun& place, int signal, const Outcome& outcome) {
    REQUIRE_MESSAGE(outcome.code == (signal == SIGINT ? 130 : 143), outcome);
    // The snapshot is that of the iteration it ended with: nothing was lost.
    const auto last = metrics_of(place.path("runs/tiny"), "snapshot").back().at("iter").get<std::uint64_t>();
    CHECK_SAYS(outcome, "interrupted after iteration " + std::to_string(last));
  });
}

}  // namespace flowtrain::signals_test
