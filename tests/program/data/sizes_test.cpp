// Training on pictures whose size is drawn, or grows over the run.

#include <doctest/doctest.h>

#include "sampling/core/text.h"
#include "tests/program/refusals.h"
#include "tests/support/temp_run.h"

namespace flowtrain::sizes_test {
namespace {

const std::string several_sizes = R"(name = "tiny"
[run]
max_iter = 20
threads = 1
[data]
dataset = "shapes"
samples = 60
val_samples = 12
size = 16
[sampler]
sizes = [8, 12, 16]
[loader]
batch = 6
workers = 2
[net]
name = "resnet18"
[optim]
lr = 0.01
[val]
every = 10
[snapshot]
every = 3
[display]
every = 2
)";

const Words progressive{"--set", "loader.resizing=\"progressive\""};

/// Returns the sides of the pictures of a replay.
std::vector<int> sides_of(const std::filesystem::path& folder) {
  std::vector<int> sides;
  for (auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".png")
      sides.push_back(static_cast<unsigned char>(read_text(entry.path()).at(19)));  // the width's last byte
  return sides;
}

}  // namespace

TEST_CASE("a net trains on drawn and on growing sizes, and neither kills nor workers show in what it learns") {
  const std::pair<Words, std::string> ways[]{
      {{}, "pictures: one of the sizes 8, 12, 16 drawn for each iteration"},
      {progressive, "pictures: size 8, 12 from iteration 8, 16 from iteration 15"}};
  for (auto& [words, told] : ways) {
    const TempRun place(several_sizes);
    const auto straight = place.train(with(words, {"--run-dir", "straight"}));
    REQUIRE_EXIT(straight, 0);
    CHECK_SAYS(straight, told);
    Process killed(with(with({"tiny.toml"}, words), {"--run-dir", "killed"}), place.process_options());
    REQUIRE(killed.wait_for_text("\"iter\":8,", place.path("killed/metrics.jsonl")));
    killed.send(SIGKILL);
    killed.wait();
    REQUIRE_EXIT(place.train(with(words, {"--run-dir", "killed", "--resume", "auto", "--workers", "4", "--set",
                                          "sampler.process=true"})),
                 0);
    CHECK(end_of(place.path("killed")) == end_of(place.path("straight")));
  }
}

TEST_CASE("micro-batches of growing sizes, mixed, train, and two processes have the batches of one") {
  const TempRun place(several_sizes);
  const Words mixed = with(progressive, {"--set", "batch_augment.cutmix=1", "--set", "train.accum=2", "--quiet"});
  REQUIRE_EXIT(place.train(with(mixed, {"--run-dir", "one"})), 0);
  REQUIRE_EXIT(place.train(with(mixed, {"--run-dir", "two", "--distributed", "--world-size", "2"})), 0);
  CHECK(end_of(place.path("one")).order == end_of(place.path("two")).order);
}

TEST_CASE("a run whose sizes grow in stages of its length is prolonged only where that is accepted") {
  const TempRun place(several_sizes);
  const Words run{"--run-dir", "run", "--resume", "auto"};
  REQUIRE_EXIT(place.train(with(progressive, {"--run-dir", "run", "--max-iter", "6"})), 0);
  check_refused(place.train(with(with(progressive, run), {"--max-iter", "9"})), 2,
                {"changes that break exact resume: loader.resize_at of the sizes", "9, the run's (was 6, the run's)"});
  check_refused(place.train(with(run, {"--max-iter", "9"})), 2, {"changes that break exact resume: loader.resizing"});
  CHECK_EXIT(place.train(with(with(progressive, run), {"--max-iter", "9", "--accept-changes"})), 0);
}

TEST_CASE("plan, bench and replay show the sizes") {
  const TempRun place(several_sizes);
  const auto planned = place.run(with({"plan", "tiny.toml"}, progressive));
  REQUIRE_EXIT(planned, 0);
  for (auto text : {"image u8 ≤16x≤16x3", "size 8, 12 from iteration 8, 16 from iteration 15", "the largest batch"})
    CHECK(planned.out.find(text) != std::string::npos);
  CHECK(planned.out.find("padding") == std::string::npos);
  CHECK_EXIT(place.run({"bench", "tiny.toml", "--seconds", "0.2"}), 0);
  for (const auto& [iteration, side] : {std::pair{"7", 8}, {"8", 12}, {"15", 16}}) {
    const auto words = with(progressive, {"--set", "batch_augment.mixup=0.5", "--iter", iteration, "--out", iteration});
    REQUIRE_EXIT(place.run(with({"replay", "tiny.toml"}, words)), 0);
    CHECK(sides_of(place.path(iteration)) == std::vector<int>(6, side));
  }
}

TEST_CASE("nets whose weights depend on the size of images are refused") {
  const TempRun place(several_sizes);
  for (const char* net : {"mlp", "lenet"})
    check_refused(place.train({"--set", concat("net.name=\"", net, "\"")}), 2,
                  {"net.name: the parameter", "depends on the size of the images", "give size in place of sizes"});
}

}  // namespace flowtrain::sizes_test
