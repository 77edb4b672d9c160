// Runs of several ranks, and runs that are interrupted, from their start to what they leave behind.

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/graph/graph.h"
#include "tests/pipeline/engine/sessions.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fast_folder.h"
#include "tests/support/timed_fields.h"

namespace flowtrain::sessions_test {

using namespace flowtrain::testing;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;
using Sets = std::vector<std::string>;

struct Sessions {
  Sessions() {
    set_console_level(ConsoleLevel::quiet);
    std::ofstream(folder / "session.toml") << session_config;
  }
  int run(const std::string& name, int fixture, const Sets& sets, Story& story, const std::string& resume = {}) const {
    return session(folder / "session.toml", folder / name, fixture, sets, resume, story);
  }

  test::FastFolder folder;
  Scheduler scheduler{4};  // outlives those of the runs
};

json read_json(const fs::path& path) { return json::parse(std::ifstream(path)); }

// What came of a run: result.json but for the time, and the lines that tell of training, validations and epochs, but
// for times. In no order: a validation beside training is told when it is done.
struct Left {
  json result;
  std::multiset<std::string> lines;
  bool operator==(const Left&) const = default;
};

Left left_in(const fs::path& run) {
  Left left{read_json(run / "result.json"), {}};
  left.result.erase("seconds");
  std::ifstream file(run / "metrics.jsonl");
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    const std::set<std::string> kept{"train", "val", "epoch", "nonfinite", "end"};
    if (!kept.contains(line.at("kind").get<std::string>())) continue;
    left.lines.insert(test::without_times(line).dump());
  }
  return left;
}

std::vector<json> lines_of(const fs::path& run, const std::string& kind) {
  std::vector<json> lines;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string text; std::getline(file, text);)
    if (auto line = json::parse(text); line.at("kind") == kind) lines.push_back(std::move(line));
  return lines;
}

std::uint64_t weight_in(const fs::path& snapshot) {
  const auto open = open_snapshot(snapshot);
  std::uint64_t weight = 0;
  std::memcpy(&weight, open.model.tensors().front().data, sizeof weight);
  return weight;
}

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

using Disturbance = std::function<void(int rank, std::uint64_t iteration)>;

Disturbance once_at(std::uint64_t at, std::function<void()> what) {
  return [at, what = std::move(what)](int rank, std::uint64_t iteration) {
    if (rank == 0 && iteration == at) what();
  };
}

const Sets rollback{"train.nonfinite=rollback", "train.rollback_lr=0.75"};
const Sets async{"val.mode=async"};

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

}  // namespace

TEST_CASE("whatever the number of ranks, a run ends with the same weights, on each of them") {
  const Sessions sessions;
  Story one;
  REQUIRE(sessions.run("1", 1, {}, one) == 0);
  for (int fixture : {2, 3, 4}) {
    CAPTURE(fixture);
    Story story;
    CHECK(sessions.run(std::to_string(fixture), fixture, {}, story) == 0);
    CHECK(story.weights == std::vector(static_cast<std::size_t>(fixture), one.weights[0]));
  }
}

TEST_CASE("train lines name what limits, and a run that ends has one verdict, also where it was resumed") {
  const Sessions sessions;
  for (int fixture : {1, 2}) {
    CAPTURE(fixture);
    const std::string name = std::to_string(fixture);
    Story story;
    story.before = once_at(20, [] { raise(SIGTERM); });
    CHECK(sessions.run(name, fixture, {}, story) == 143);
    CHECK(lines_of(sessions.folder / name, "verdict").empty());
    story.before = {};
    CHECK(sessions.run(name, fixture, {}, story, "auto") == 0);
    for (auto& line : lines_of(sessions.folder / name, "train")) {
      CHECK_MESSAGE(line.contains("limit"), line.dump());
      CHECK((line.at("limit_share") >= 0 && line.at("limit_share") <= 1));
      CHECK((line.at("queue_fill") >= 0 && line.at("queue_fill") <= 1));
    }
    const auto verdicts = lines_of(sessions.folder / name, "verdict");
    REQUIRE(verdicts.size() == 1);
    CHECK(verdicts[0].at("iter") == 40);
    CHECK_FALSE(verdicts[0].at("text").get<std::string>().empty());
    CHECK(verdicts[0].at("limit_share") > 0);
    CHECK_FALSE(verdicts[0].at("gain").empty());
    CHECK(verdicts[0].contains("rank") == (fixture > 1));
  }
}

TEST_CASE("all ranks end with the weights of the best snapshot where that is asked for") {
  const Sessions sessions;
  for (int fixture : {1, 2, 3}) {
    CAPTURE(fixture);
    Story story;
    const std::string name = std::to_string(fixture);
    CHECK(sessions.run(name, fixture, {"snapshot.end_with_best=true", "val.every=7"}, story) == 0);
    const auto best = weight_in(sessions.folder / name / "snapshots/best");
    CHECK(story.weights == std::vector(static_cast<std::size_t>(fixture), best));
    const auto result = read_json(sessions.folder / name / "result.json");
    REQUIRE(result.contains("weights_of"));  // not the last ones
    CHECK(result.at("weights_of") == result.at("best").at("iteration"));
  }
}

TEST_CASE("best weights that are gone at the end are an error of all ranks, not a wait") {
  const Sessions sessions;
  Story story;
  const fs::path snapshots = sessions.folder / "run/snapshots";
  const auto wait_until = [](auto condition) {
    for (bool met = false; !met;) try {
        met = condition();
      } catch (const std::exception&) {  // older ones are pruned meanwhile
      }
  };
  story.at_end = [&] {
    wait_until([&] {
      const auto all = list_snapshots(snapshots);
      return !all.empty() && all.front().iteration == 40 && all.front().complete;
    });
    wait_until([&] {
      for (auto& info : list_snapshots(snapshots)) fs::remove_all(info.path);
      return list_snapshots(snapshots).empty();
    });
  };
  check_failure(failure_of([&] { sessions.run("run", 2, {"snapshot.end_with_best=true"}, story); }), ExitCode::snapshot,
                "cannot load the best weights");
}

TEST_CASE("hooks come to the same points on all ranks, snapshots among them, also where one is left out") {
  const Sessions sessions;
  for (const Sets& sets : {Sets{}, Sets{"snapshot.when_busy=skip", "snapshot.every=1"}}) {
    Story story;
    const std::string name = sets.empty() ? "plain" : "skips";
    CHECK(sessions.run(name, 3, sets, story) == 0);
    CHECK(story.hooks[1] == story.hooks[0]);
    CHECK(story.hooks[2] == story.hooks[0]);
    CHECK(story.hooks[0].at("snapshot_begin") > 0);
    CHECK(story.hooks[0].at("snapshot_end") == story.hooks[0].at("snapshot_begin"));
  }
}

TEST_CASE("a run that is interrupted leaves what an undisturbed one leaves, whatever it does on its way") {
  const Sessions sessions;
  struct Case {
    std::string name;
    Sets sets;
    std::set<std::uint64_t> not_finite = {};
  };
  const std::vector<Case> cases{
      {"plain", {}},
      {"accumulates", {"train.accum=2"}},
      {"ends with the best", {"snapshot.end_with_best=true", "snapshot.keep_last=1"}},
      {"stops early", {"early_stop.patience=2", "val.every=3"}},
      {"async", async},
      {"skips", {"train.nonfinite=skip"}, {9, 19}},
      {"rolls back", with(rollback, {"val.every=0"}), {17, 28, 29, 38}},
      {"rolls back to the best", rollback, {18, 27, 38}},
      {"rolls back, async", with(rollback, async), {18, 27, 38}},
      {"rolls back, never waits for the disk", with(rollback, {"snapshot.when_busy=skip", "snapshot.every=3"}), {38}},
  };
  for (auto& each : cases)
    for (int fixture : {1, 2}) {
      CAPTURE(each.name);
      CAPTURE(fixture);
      fs::remove_all(sessions.folder / "straight");
      Story straight{each.not_finite};
      REQUIRE(sessions.run("straight", fixture, each.sets, straight) == 0);
      const Left expected = left_in(sessions.folder / "straight");
      for (const std::uint64_t at : {5u, 13u, 20u, 24u, 31u, 37u}) {
        CAPTURE(at);
        fs::remove_all(sessions.folder / "cut");
        Story story{each.not_finite};
        int code = -1;
        for (auto& disturbance : {once_at(at, [] { raise(SIGTERM); }), once_at(at + 2, [] { raise(SIGINT); }),
                                  once_at(at + 4, [] { throw Killed(); }), Disturbance()}) {
          story.before = disturbance;
          try {
            code = sessions.run("cut", fixture, each.sets, story, code == -1 ? "" : "auto");
          } catch (const Killed&) {
          }
          if (code == 0) break;
        }
        REQUIRE(code == 0);
        CHECK(story.weights == straight.weights);
        CHECK(left_in(sessions.folder / "cut") == expected);
      }
    }
}

TEST_CASE("a signal ends validations beside training on all ranks together, and the resumed run makes them") {
  const Sessions sessions;
  for (const int fixture : {1, 3}) {
    CAPTURE(fixture);
    const std::string name = std::to_string(fixture);
    Story straight, story;
    REQUIRE(sessions.run("straight" + name, fixture, async, straight) == 0);
    std::atomic<bool> asked = false;
    story.validating = [&](int) {
      while (!asked) std::this_thread::yield();
    };
    story.before = once_at(9, [&] { raise(SIGTERM), asked = true; });  // the validation of 8 is under way
    REQUIRE(sessions.run("cut" + name, fixture, async, story) == 143);
    const auto cut = sessions.folder / ("cut" + name);
    const auto newest = find_newest(cut / "snapshots").path.value();
    CHECK(read_json(newest / "state.json").at("awaited").at("iteration") == 8);
    story.before = {};
    CHECK(sessions.run("cut" + name, fixture, async, story, "auto") == 0);
    CHECK(story.weights == straight.weights);
    CHECK(left_in(cut) == left_in(sessions.folder / ("straight" + name)));
  }
}

TEST_CASE("train lines count the samples of all ranks and the training time, also over an interruption") {
  const Sessions sessions;
  Story story;
  story.before = once_at(21, [] { raise(SIGTERM); });
  CHECK(sessions.run("run", 2, {}, story) == 143);
  story.before = {};
  REQUIRE(sessions.run("run", 2, {}, story, "auto") == 0);
  double elapsed_s = 0;
  std::ifstream file(sessions.folder / "run/metrics.jsonl");
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    if (line.at("kind") != "train") continue;
    CHECK(line.at("samples") == 12 * line.at("iter").get<int>());
    CHECK(line.at("elapsed_s") > elapsed_s);
    elapsed_s = line.at("elapsed_s");
  }
  CHECK(elapsed_s > 0);
}

TEST_CASE("a run leaves its graph, and a page that says how it ended, unless display.report is off") {
  const Sessions sessions;
  Story story;
  const auto status = [&](const std::string& name) {
    std::ifstream file(sessions.folder / name / "report.html");
    const std::string page{std::istreambuf_iterator<char>(file), {}}, begin = "id=\"data\">";
    const auto from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from)).at("runs").at(0).at("status");
  };
  REQUIRE(sessions.run("done", 2, {}, story) == 0);
  CHECK(status("done").at("state") == "done");
  CHECK(status("done").at("iter") == 40);
  CHECK(read_json(sessions.folder / "done/graph.json").at("last_iteration") == 40);
  REQUIRE(sessions.run("off", 1, {"display.report=false"}, story) == 0);
  CHECK(!fs::exists(sessions.folder / "off/report.html"));
  story.before = once_at(9, [] { throw UserError(ExitCode::data, "a picture is damaged"); });
  check_failure(failure_of([&] { sessions.run("failed", 1, {}, story); }), ExitCode::data, "a picture is damaged");
  CHECK(status("failed").at("state") == "failed");
  CHECK(status("failed").at("why").get<std::string>().find("a picture is damaged") != std::string::npos);
}

TEST_CASE("one rank's error ends all, whether it trains or validates beside training meanwhile") {
  const Sessions sessions;
  Story story;
  std::atomic<bool> failed = false;
  SUBCASE("it validates") {
    story.validating = [](int rank) {
      if (rank == 1) throw UserError(ExitCode::data, "a picture is damaged");
    };
    check_failure(failure_of([&] { sessions.run("run", 3, async, story); }), ExitCode::data, "a picture is damaged");
  }
  SUBCASE("it trains") {
    story.validating = [&](int) {
      while (!failed) std::this_thread::yield();
    };
    story.before = [&](int rank, std::uint64_t iteration) {
      if (rank == 1 && iteration == 9) failed = true, throw UserError(ExitCode::data, "a picture is damaged");
    };
    check_failure(failure_of([&] { sessions.run("run", 3, async, story); }), ExitCode::data, "a picture is damaged");
  }
}

TEST_CASE("snapshots that signals left do not push out the one that a rollback goes back to") {
  const Sessions sessions;
  const Sets sets = with(rollback, {"val.every=0", "snapshot.every=20", "snapshot.keep_last=1"});
  Story straight{{38}};
  REQUIRE(sessions.run("straight", 1, sets, straight) == 0);
  Story story{{38}};
  for (const std::uint64_t at : {31u, 33u, 35u}) {
    story.before = once_at(at, [] { raise(SIGTERM); });
    REQUIRE(sessions.run("cut", 1, sets, story, at == 31 ? "" : "auto") == 143);
  }
  story.before = {};
  REQUIRE(sessions.run("cut", 1, sets, story, "auto") == 0);
  CHECK(story.weights == straight.weights);
}

TEST_CASE("a run that did not roll back before begins with the snapshot that it goes on from") {
  const Sessions sessions;
  Story story;
  story.before = once_at(15, [] { raise(SIGTERM); });
  REQUIRE(sessions.run("run", 2, {"val.every=0"}, story) == 143);
  story.before = {};
  story.not_finite = {17};
  CHECK(sessions.run("run", 2, {"val.every=0", "train.nonfinite=rollback"}, story, "auto") == 0);
}

TEST_CASE("a run goes on in a copy whose links became folders: the same end, links again, old snapshots pruned") {
  const Sessions sessions;
  Story straight, story;
  REQUIRE(sessions.run("straight", 1, {}, straight) == 0);
  story.before = once_at(23, [] { raise(SIGTERM); });
  REQUIRE(sessions.run("run", 1, {}, story) == 143);
  const fs::path copy = sessions.folder / "copy", snapshots = copy / "snapshots";
  fs::copy(sessions.folder / "run", copy, fs::copy_options::recursive);  // follows links
  REQUIRE(fs::is_directory(fs::symlink_status(snapshots / "latest")));
  story.before = {};
  CHECK(sessions.run("copy", 1, {}, story, "auto") == 0);
  CHECK(story.weights == straight.weights);
  CHECK(left_in(copy) == left_in(sessions.folder / "straight"));
  for (auto link : {"latest", "best"}) CHECK(fs::is_symlink(snapshots / link));
  CHECK(list_snapshots(snapshots).size() == list_snapshots(sessions.folder / "straight/snapshots").size());
}

TEST_CASE("where a link cannot be made, snapshots count, old ones are pruned, and the run ends well") {
  const Sessions sessions;
  Story story;
  const fs::path snapshots = sessions.folder / "run/snapshots";
  story.before = once_at(1, [&] { fs::create_directories(snapshots / "latest/somebody's"); });
  CHECK(sessions.run("run", 1, {"val.every=0", "snapshot.every=4"}, story) == 0);
  CHECK(list_snapshots(snapshots).size() == 2);
  CHECK(fs::exists(snapshots / "latest/somebody's"));
}

TEST_CASE("a snapshot without its run cannot be gone on from, and the hint says how it can") {
  const Sessions sessions;
  Story story;
  REQUIRE(sessions.run("run", 1, {}, story) == 0);
  const fs::path lone = sessions.folder / "lone";
  fs::copy(sessions.folder / "run/snapshots/iter-00000040", lone);
  StartOptions start;
  start.config = (sessions.folder / "session.toml").string();
  start.resume = lone.string();
  try {
    prepare_start(start);
    FAIL("it went on");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(std::string(error.what()) == "--resume " + lone.string() + ": this snapshot lies outside of a run's folder");
    // What the hint says works.
    std::string commands = error.hint().substr(error.hint().find("mkdir -p "));
    commands.erase(commands.find("; flowtrain NEW"));
    const std::string made = (sessions.folder / "made").string();
    for (std::size_t at = 0; (at = commands.find("NEW", at)) != std::string::npos; at += made.size())
      commands.replace(at, 3, made);
    REQUIRE(std::system(commands.c_str()) == 0);
    start.resume = made + "/snapshots/iter-00000040/";  // with the slash that a shell adds
    const Start found = prepare_start(start);
    REQUIRE(found.snapshot);
    CHECK(found.snapshot->filename() == "iter-00000040");
  }
}

TEST_CASE("ranks that come to different collectives are an error that names both") {
  const auto failure = failure_of(
      [] { as_ranks(2, [](Group& group) { group.broadcast(group.leads() ? "one thing" : "another", {}); }); });
  check_failure(failure, ExitCode::distributed, "rank 0 is in 'one thing', rank 1 in 'another'");
}

}  // namespace flowtrain::sessions_test
