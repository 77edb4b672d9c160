// A run that does not fit into memory is refused as a matter of the configuration.

#include <doctest/doctest.h>

#include "tests/support/paths.h"
#include "tests/support/temp_run.h"

namespace flowtrain::out_of_memory_test {
namespace {

void check_refused(const TempRun& place, const Outcome& outcome, const Words& texts) {
  CHECK_EXIT(outcome, 2);
  for (auto& text : texts) CHECK_SAYS(outcome, text);
  CHECK_MESSAGE(outcome.err.find("bug in flowtrain") == std::string::npos, outcome);
  CHECK((!std::filesystem::exists(place.path("runs")) || std::filesystem::is_empty(place.path("runs"))));
}

}  // namespace

TEST_CASE("batches that do not fit into memory are refused before they are made, with the keys and the numbers") {
  const TempRun place;
  const Words much{"--set", "loader.batch=1000000", "--set", "loader.prefetch=4000"};
  check_refused(
      place, place.train(much),
      {"--set: loader.batch: batches would take ", " TB of memory, and ",
       " are free: ", "4002 batches of 1,000,000 rows for training (loader.prefetch + 2), ", " a row",
       "7 batches of 1,000,000 rows for validation (loader.batch)", "hint: make loader.batch or loader.prefetch"});
  check_refused(place, place.train({"--set", "val.batch=16000000", "--set", "data.size=256"}),
                {"--set: val.batch: batches would take ", "7 batches of 16,000,000 rows for validation (val.batch)",
                 "hint: make val.batch smaller"});
  check_refused(place, place.run(with({"bench", "tiny.toml"}, much)), {"loader.batch: batches would take "});
  // Nothing is computed: the machine that is to do so may be a larger one.
  CHECK_EXIT(place.run({"plan", "tiny.toml", "--set", "loader.batch=20000", "--set", "loader.prefetch=10"}), 0);
}

TEST_CASE("a limit of addresses counts as the memory that there is") {
  const TempRun place;
  ProcessOptions limited = place.process_options();
  limited.program = "/bin/sh";
  const std::string program = test::build_path("bin/flowtrain");
  const auto outcome = run_program(
      {"-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", program, "tiny.toml", "--set", "loader.batch=500000"}, limited);
  check_refused(place, outcome, {"--set: loader.batch: batches would take ", " GB of memory, and "});
}

TEST_CASE("a net that no memory holds is told as such, and its start leaves nothing behind") {
  const TempRun place;
  for (const Words& ranks : {Words{}, Words{"--distributed", "--world-size", "2"}}) {
    const auto outcome = place.train(with(ranks, {"--set", "net.hidden=[1, 16777216, 16777216]"}));
    check_refused(place, outcome,
                  {"error: ", "out of memory: ", "DefaultCPUAllocator", "hint: set a smaller loader.batch"});
  }
}

TEST_CASE("a net that needs two rows of a batch says so where it gets one") {
  const TempRun place;
  const Words small{"--set", "net.name=resnet18", "--set", "data.size=32", "--max-iter", "3", "--set", "val.every=0"};
  const Words said{"batch normalisation cannot compute statistics of a single row", "hint: give each process two"};
  const auto refused = [&](const Words& more) {
    const auto outcome = place.train(with(small, more));
    CHECK_EXIT(outcome, 2);
    for (auto& text : said) CHECK_SAYS(outcome, text);
    CHECK_MESSAGE(outcome.err.find("bug in flowtrain") == std::string::npos, outcome);
  };
  refused({"--set", "data.samples=13", "--set", "loader.batch=12", "--set", "loader.last_batch=pad"});
  refused({"--set", "loader.batch=3", "--distributed", "--world-size", "2"});
}

}  // namespace flowtrain::out_of_memory_test
