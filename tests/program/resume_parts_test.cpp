// What of a snapshot a run goes on with: [resume].

#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

#include "tests/support/temp_run.h"

namespace flowtrain {
namespace {

/// What a run of 31 iterations with `before` that goes on to 60 with `after` ends with.
std::string resumed(const Words& before, const Words& after, const std::string& more = "") {
  const TempRun place(std::string(tiny_config) + more);
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "31"}, before)), 0);
  REQUIRE_EXIT(place.train(with(with({"--run-dir", "run", "--resume", "auto", "--max-iter", "60"}, before), after)), 0);
  return metrics_of(place.path("run"), "end").back().at("params_xxh64");
}

/// Of the run in `run`, to `copy`.
void copy_run(const TempRun& place) {
  using Options = std::filesystem::copy_options;
  std::filesystem::copy(place.path("run"), place.path("copy"), Options::recursive | Options::copy_symlinks);
}

}  // namespace

TEST_CASE("an optimizer may begin anew where a run goes on") {
  const auto whole = resumed({}, {}), anew = resumed({}, {"--set", "resume.optim=false"});
  CHECK(anew != whole);
  // Without momentum there is nothing to forget.
  const Words plain{"--set", "optim.momentum=0"};
  CHECK(resumed(plain, {"--set", "resume.optim=false"}) == resumed(plain, {}));
}

TEST_CASE("half precision may be taken up or given up, when its scale is not to be resumed") {
  for (const auto& [before, after] : {std::pair{"off", "fp16"}, {"fp16", "off"}}) {
    const TempRun place;
    const auto amp = [](const char* type) { return Words{"--set", std::string("train.amp=") + type}; };
    REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "31"}, amp(before))), 0);
    const Words on = with({"--run-dir", "run", "--resume", "auto", "--max-iter", "60", "--accept-changes"}, amp(after));
    const auto refused = place.train(on);
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, "resume.scaler = false begins it anew");
    REQUIRE_EXIT(place.train(with(on, {"--set", "resume.scaler=false"})), 0);
    CHECK(metrics_of(place.path("run"), "train").back().contains("loss_scale") == (std::string(after) == "fp16"));
  }
}

TEST_CASE("what hooks keep goes on with a run, or begins anew") {
  const std::string hook = "[[hook]]\nname = \"every_point\"\nlog = \"first\"\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  const auto calls_at = [](const std::filesystem::path& notes,
                           const std::string& point) {  // the call of that point, from 1
    std::ifstream file(notes);
    int count = 0;
    for (std::string line; std::getline(file, line);)
      if (++count; line.starts_with(point)) return count;
    return 0;
  };
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "31"}), 0);
  const int before = calls_at(place.path("first.0"), "snapshot_begin 31 ");
  REQUIRE(before > 0);
  copy_run(place);
  for (const auto& [run, hooks, kept] : {std::tuple{"run", "true", before}, {"copy", "false", 0}}) {
    CAPTURE(run);
    const std::string notes = std::string("notes-") + run;
    REQUIRE_EXIT(
        place.train({"--run-dir", run, "--resume", "auto", "--max-iter", "60", "--set",
                     std::string("resume.hooks=") + hooks, "--set", "hook.0.log=" + notes, "--accept-changes"}),
        0);
    const int now = calls_at(place.path(notes + ".0"), "iteration_end 60 ");
    REQUIRE(now > 0);
    const auto line = metrics_of(place.path(run), "train").back();
    REQUIRE(line.at("iter") == 60);
    CHECK(line.at("calls") == kept + now);
  }
}

TEST_CASE("the rate that a rollback has lowered goes on with a run, or is forgotten") {
  // A warm-up from a rate that blows the weights up in its first iterations; afterwards the rate is the optimizer's
  // own.
  const Words settings{"--set", "lr.warmup={length = 6, mode = \"fix\", init_lr = 1e25}",
                       "--set", "val.every=0",
                       "--set", "train.nonfinite=rollback",
                       "--set", "train.rollback_lr=0.9"};
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "10"}, settings)), 0);
  const auto rollbacks = metrics_of(place.path("run"), "nonfinite").size();
  REQUIRE(rollbacks > 0);
  copy_run(place);
  const auto last_rate = [&](const std::string& run, const std::string& schedule) {
    const Words on{"--run-dir", run, "--resume", "auto", "--max-iter", "20", "--set", "resume.schedule=" + schedule};
    REQUIRE_EXIT(place.train(with(on, settings)), 0);
    CHECK(metrics_of(place.path(run), "nonfinite").size() == rollbacks);
    return metrics_of(place.path(run), "train").back().at("lr").get<double>();
  };
  CHECK(last_rate("run", "true") == doctest::Approx(0.05 * std::pow(0.9, rollbacks)));
  CHECK(last_rate("copy", "false") == doctest::Approx(0.05));
}

TEST_CASE("what plateaus have made of the rate may be forgotten") {
  const std::string plateau = "[[schedule]]\nname = \"plateau\"\npatience = 1\nmin_delta = 100\n";
  const Words often{"--set", "val.every=3"};
  CHECK(resumed(often, {"--set", "resume.schedule=false"}, plateau) != resumed(often, {}, plateau));
  CHECK(resumed({}, {"--set", "resume.schedule=false"}) == resumed({}, {}));
}

}  // namespace flowtrain
