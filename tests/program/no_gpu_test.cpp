// A GPU that is asked for on a machine without one: each command says so, whatever it would have done first.

#include <doctest/doctest.h>

#include "tests/program/detector.h"
#include "tests/program/language_model.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::no_gpu_test {
namespace {

namespace fs = std::filesystem;

bool has_driver() { return fs::exists("/dev/nvidiactl") || fs::exists("/dev/dxg"); }

void check_refused(const TempRun& place, const Words& words) {
  std::string line;
  for (auto& word : words) line += word + " ";
  CAPTURE(line);
  const auto outcome = place.run(words);
  CHECK_EXIT(outcome, 2);
  if (fs::exists(test::build_path("lib/libflowtrain_cuda.so")))
    CHECK_SAYS(outcome, "no GPU answers");
  else
    CHECK_SAYS(outcome, "this build of flowtrain has no CUDA parts");
  CHECK_SAYS(outcome, "hint: ");
}

}  // namespace

TEST_CASE("each command that computes refuses a GPU that is not there, and says how to do without") {
  SKIP_UNLESS(!has_driver(), "no-gpu", "a driver of GPUs is here");
  const TempRun place;
  REQUIRE_EXIT(place.train({"--initialize", "--device", "cpu"}), 0);
  const Words asks{"tiny.toml", "--device", "cuda"};
  const std::vector<Words> commands{
      {"train"},
      {"train", "--dry-run"},
      {"train", "--no-optim"},
      {"train", "--set", "loader.batch=\"auto\""},
      {"train", "--distributed", "--world-size", "2"},
      {"test"},
      {"lr-find", "--iterations", "10"},
      {"replay", "--iter", "1", "--loss"},
      {"replay", "--find-nan"},
      {"bench", "--distributed", "--world-size", "2"},
  };
  for (auto& command : commands) check_refused(place, with(command, asks));
  check_refused(place, {"train", "tiny.toml", "--device", "cuda:3"});
}

TEST_CASE("the test of a detector refuses a GPU that is not there") {
  SKIP_UNLESS(!has_driver(), "no-gpu", "a driver of GPUs is here");
  const TempRun place(detector);
  REQUIRE_EXIT(place.train({"--initialize", "--device", "cpu"}), 0);
  for (const std::string device : {"cuda", "cuda:3"}) check_refused(place, {"test", "tiny.toml", "--device", device});
}

TEST_CASE("a language model does not continue texts on a GPU that is not there") {
  SKIP_UNLESS(!has_driver(), "no-gpu", "a driver of GPUs is here");
  const LanguageRun place;
  REQUIRE_EXIT(place.train({"--initialize", "--device", "cpu", "--run-dir", "run"}), 0);
  check_refused(place, {"generate", "run", "--prompt", "the", "--device", "cuda"});
}

}  // namespace flowtrain::no_gpu_test
