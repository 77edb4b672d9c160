// train.on_error and val.on_error: an error in a batch ends the run, ends it with all saved, or leaves that batch out.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/temp_run.h"

namespace flowtrain::on_error_test {
namespace {

/// With a step that can be made to fail; batches begin with any of six labels. `more` may name the hook of tests.
std::string flaky(const std::string& more = "") {
  return with_plugins({"every_point", "flaky"}, tiny_config + more + "[step]\nname = \"flaky\"\n");
}

const Words one_in_six{"--set", "step.train=1"}, all_fail{"--set", "step.train=6"};
const Words skip{"--set", "train.on_error=skip"};

std::vector<std::uint64_t> skipped(const TempRun& place, const std::string& run) {
  std::vector<std::uint64_t> iterations;
  for (auto& line : metrics_of(place.path(run), "skipped")) iterations.push_back(line.at("iter"));
  return iterations;
}

/// What its last start ended with.
std::string last_end(const TempRun& place, const std::string& run) {
  const auto line = metrics_of(place.path(run), "end").back();
  return line.at("params_xxh64").get<std::string>() + " " + line.at("order_xxh64").get<std::string>();
}

Outcome train(const TempRun& place, const std::string& run, const Words& more = {}) {
  return place.train(with({"--run-dir", run}, more));
}

}  // namespace

TEST_CASE("an update that an error keeps from being made is left out, in the same way when the run is interrupted") {
  for (const Words& accum : {Words{}, Words{"--set", "train.accum=2"}}) {
    const TempRun place(flaky());
    const Words fails = with(one_in_six, accum), skips = with(fails, skip);
    CHECK_EXIT(train(place, "stops", fails), 2);
    const auto outcome = train(place, "whole", skips);
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "is left out: ");
    CHECK_SAYS(outcome, "step.name: as the test wants it; samples of the batch: ");
    const auto left_out = skipped(place, "whole");
    REQUIRE(left_out.size() > 2);
    CHECK(left_out.size() < 40);

    // All batches were seen, not all were learned from.
    REQUIRE_EXIT(train(place, "sound", accum), 0);
    CHECK(end_of(place.path("whole")).order == end_of(place.path("sound")).order);
    CHECK(end_of(place.path("whole")).params != end_of(place.path("sound")).params);

    REQUIRE_EXIT(train(place, "parts", with(skips, {"--max-iter", "31"})), 0);
    REQUIRE_EXIT(train(place, "parts", with(skips, {"--resume", "auto"})), 0);
    CHECK(last_end(place, "parts") == last_end(place, "whole"));
    CHECK(skipped(place, "parts") == left_out);
  }
}

TEST_CASE("too many in a row end the run, also those from before it was interrupted") {
  const TempRun place(flaky());
  const Words skips = with(with(all_fail, skip), {"--set", "train.max_skipped=7"});
  REQUIRE_EXIT(train(place, "parts", with(skips, {"--max-iter", "5"})), 0);
  for (auto& [run, more] : {std::pair<std::string, Words>{"whole", {}}, {"parts", {"--resume", "auto"}}}) {
    const auto outcome = train(place, run, with(skips, more));
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, "7 updates in a row were left out");
    CHECK_SAYS(outcome, "as the test wants it");
    CHECK(skipped(place, run) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("of an update that is left out nothing stays, neither in weights nor in running statistics") {
  const TempRun place(flaky());
  for (auto accum : {"1", "2"}) {
    const Words net = with(with(all_fail, skip), {"--set", "net.name=resnet18", "--set", "loader.batch=4", "--set",
                                                  "train.accum=" + std::string(accum)});
    const std::string run = "run-" + std::string(accum);
    REQUIRE_EXIT(train(place, run + "-first", with(net, {"--initialize"})), 0);
    REQUIRE_EXIT(train(place, run, with(net, {"--max-iter", "3"})), 0);
    const auto model = [&](const std::string& of, const std::string& snapshot) {
      return read_text(place.path(of + "/snapshots/" + snapshot + "/model.safetensors"));
    };
    CHECK(model(run, "iter-00000003") == model(run + "-first", "iter-00000000"));
  }
}

TEST_CASE("a run that saves ends with the last whole iteration, and goes on from there") {
  for (const Words& accum : {Words{}, Words{"--set", "train.accum=2"}}) {
    const TempRun place(flaky("[[hook]]\nname = \"every_point\"\nlog = \"notes\"\nranks = \"first\"\n"));
    const Words fails = with(with(one_in_six, accum), {"--seed", "5"}), skips = with(fails, skip);  // not at once
    REQUIRE_EXIT(train(place, "whole", skips), 0);
    const auto first = skipped(place, "whole").front();
    REQUIRE(first > 1);
    std::filesystem::remove(place.path("notes.0"));

    const auto outcome =
        train(place, "saves", with(fails, {"--set", "train.on_error=save", "--set", "snapshot.final=false"}));
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, "as the test wants it");
    const auto result = nlohmann::json::parse(read_text(place.path("saves/result.json")));
    CHECK(result.at("iteration") == first - 1);
    CHECK(result.at("ended") == "stopped");
    CHECK(result.at("why").get<std::string>().ends_with("as the test wants it"));
    CHECK(metrics_of(place.path("saves"), "snapshot").back().at("iter") == first - 1);
    const std::string notes = read_text(place.path("notes.0"));
    CHECK(notes.find("\nexception ") != std::string::npos);
    CHECK(notes.find("\nrun_end ") != std::string::npos);

    REQUIRE_EXIT(train(place, "saves", with(skips, {"--resume", "auto"})), 0);
    CHECK(last_end(place, "saves") == last_end(place, "whole"));
  }
}

TEST_CASE("no memory on the host, and errors of hooks, end a run in any case") {
  const TempRun place(flaky("[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n"));
  const auto memory = train(place, "memory", with(with(all_fail, skip), {"--set", "step.memory=true"}));
  CHECK_EXIT(memory, 2);
  CHECK_SAYS(memory, "DefaultCPUAllocator");
  CHECK(skipped(place, "memory").empty());
  const auto hook = train(place, "hook", with(skip, {"--set", "hook.0.throw_at=5", "--set", "hook.0.throw_in=loss"}));
  CHECK_EXIT(hook, 2);
  CHECK_SAYS(hook, "hook every_point, at loss of iteration 5: as the test wants it");
}

TEST_CASE("a validation that fails counts as not made; the next ones measure what they would have") {
  // The validation set's three batches begin with labels 0, 4 and 2; a validation goes through two of them.
  const TempRun place(flaky("[ema]\ndecay = 0.9\n"));
  const Words two{"--set", "val.batches=2", "--set", "val.every=5"},
      fails = with(two, {"--set", "step.val=1"}), skips = with(fails, {"--set", "val.on_error=skip"});
  CHECK_EXIT(train(place, "stops", fails), 2);
  const auto outcome = train(place, "whole", skips);
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "no validation at iteration 5: ");
  REQUIRE_EXIT(train(place, "sound", two), 0);
  CHECK(end_of(place.path("whole")) == end_of(place.path("sound")));

  const auto scalars = [&](const std::string& run) {
    std::map<std::uint64_t, std::string> all;
    for (auto& line : metrics_of(place.path(run), "val")) all[line.at("iter")] = line.dump();
    return all;
  };
  const auto made = scalars("whole"), expected = scalars("sound");
  CHECK(made.size() == 4);
  CHECK(expected.size() == 12);
  for (auto& [iteration, line] : made) CHECK(line == expected.at(iteration));

  REQUIRE_EXIT(train(place, "parts", with(skips, {"--max-iter", "25"})), 0);
  REQUIRE_EXIT(train(place, "parts", with(skips, {"--resume", "auto"})), 0);
  CHECK(last_end(place, "parts") == last_end(place, "whole"));
  CHECK(scalars("parts") == made);
}

TEST_CASE("a validation that fails where the run is to save is made by the resumed run") {
  const TempRun place(flaky("[ema]\ndecay = 0.9\n[[val.set]]\nname = \"more\"\nval_samples = 80\n"));
  REQUIRE_EXIT(train(place, "whole"), 0);
  const auto outcome = train(place, "saves", {"--set", "step.val=1", "--set", "val.on_error=save"});
  CHECK_EXIT(outcome, 2);
  CHECK(metrics_of(place.path("saves"), "snapshot").back().at("iter") == 20);
  REQUIRE_EXIT(train(place, "saves", {"--resume", "auto", "--accept-changes"}), 0);
  CHECK(last_end(place, "saves") == last_end(place, "whole"));
  CHECK(metrics_of(place.path("saves"), "val") == metrics_of(place.path("whole"), "val"));
}

TEST_CASE("several processes leave an update out together where one of them fails, and may be interrupted") {
  const Words two{"--distributed", "--world-size", "2", "--set", "net.dropout=0.0"};
  for (const Words& accum : {Words{}, Words{"--set", "train.accum=2"}}) {
    const TempRun place(flaky());
    const Words skips = with(with(with(one_in_six, skip), with(two, {"--set", "train.max_skipped=100"})), accum);
    const auto outcome = train(place, "whole", skips);
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "step.name: as the test wants it; samples of the batch: ");
    const auto left_out = skipped(place, "whole");
    CHECK(left_out.size() > 2);
    CHECK(left_out.size() < 60);
    CHECK(std::set(left_out.begin(), left_out.end()).size() == left_out.size());

    REQUIRE_EXIT(train(place, "sound", with(two, accum)), 0);
    CHECK(end_of(place.path("whole")).order == end_of(place.path("sound")).order);
    CHECK(end_of(place.path("whole")).params != end_of(place.path("sound")).params);
    REQUIRE_EXIT(train(place, "parts", with(skips, {"--max-iter", "31"})), 0);
    REQUIRE_EXIT(train(place, "parts", with(skips, {"--resume", "auto"})), 0);
    CHECK(last_end(place, "parts") == last_end(place, "whole"));
    CHECK(skipped(place, "parts") == left_out);

    const auto many =
        train(place, "many", with(with(with(all_fail, skip), two), with(accum, {"--set", "train.max_skipped=3"})));
    CHECK(many.code != 0);
    CHECK_SAYS(many, "3 updates in a row were left out");
    CHECK(skipped(place, "many") == std::vector<std::uint64_t>{1, 2, 3});
  }
}

TEST_CASE("a validation that fails in one of several processes is left out by all, inline and beside training") {
  const TempRun place(flaky());
  // The processes' parts of a validation begin with labels 0 and 2, then 4 and 0, then 2 and 4: one process or the
  // other fails in two of three validations.
  const Words two{"--distributed", "--world-size",  "2",     "--set",      "net.dropout=0.0",
                  "--set",         "val.batches=1", "--set", "val.every=5"};
  REQUIRE_EXIT(train(place, "sound", two), 0);
  for (const std::string mode : {"inline", "async"}) {
    CAPTURE(mode);
    const Words skips = with(two, {"--set", "step.val=1", "--set", "val.on_error=skip", "--set", "val.mode=" + mode});
    const auto outcome = train(place, mode, skips);
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "no validation at iteration ");
    CHECK_SAYS(outcome, ": rank ");
    CHECK_SAYS(outcome, "as the test wants it");
    CHECK(end_of(place.path(mode)) == end_of(place.path("sound")));
    const auto made = metrics_of(place.path(mode), "val"), expected = metrics_of(place.path("sound"), "val");
    CHECK(made.size() > 0);
    CHECK(made.size() < expected.size());
    for (auto& line : made) CHECK(std::ranges::find(expected, line) != expected.end());
  }
}

TEST_CASE("several processes end together, and in good order where they are to, where a validation of one fails") {
  const TempRun place(flaky());
  const Words fails{"--distributed", "--world-size", "2", "--set", "step.val=1"};
  const auto stops = train(place, "stops", fails);
  CHECK(stops.code != 0);
  CHECK_FALSE(stops.timed_out);
  CHECK_SAYS(stops, "as the test wants it");
  const auto saves = train(place, "saves", with(fails, {"--set", "val.on_error=save"}));
  CHECK_EXIT(saves, 2);
  CHECK_SAYS(saves, "as the test wants it");
  CHECK(metrics_of(place.path("saves"), "snapshot").back().at("iter") == 20);
  CHECK(nlohmann::json::parse(read_text(place.path("saves/result.json"))).at("ended") == "stopped");
}

TEST_CASE("several processes refuse to save after an error of an update") {
  const TempRun place(flaky());
  const auto outcome = train(place, "several", {"--set", "train.on_error=save", "--distributed", "--world-size", "2"});
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "--set: train.on_error: only a process that trains alone");
  CHECK_FALSE(std::filesystem::exists(place.path("several/config.toml")));
}

}  // namespace flowtrain::on_error_test
