// A run's folder that is removed, renamed or not the run's own, and processes with limits and without standard streams.

#include <doctest/doctest.h>

#include "tests/program/ranks.h"
#include "tests/support/temp_run.h"

namespace flowtrain::run_folder_test {
namespace {

namespace fs = std::filesystem;

const Words endless{"--max-iter", "100000000", "--set", "val.every=0", "--set", "snapshot.every=0"};

bool has_train_lines(const fs::path& run) {
  return read_text(run / "metrics.jsonl").find("\"train\"") != std::string::npos;
}

/// An endless run, once it trains.
struct EndlessRun {
  EndlessRun(const TempRun& place, const std::string& folder, const Words& more = {})
      : process(with(with(Words{"tiny.toml", "--run-dir", folder}, endless), more), place.process_options()) {
    const auto run = place.path(folder);
    REQUIRE(process.wait_for([run] { return has_train_lines(run); }));
  }
  Process process;
};

// The run may make a file meanwhile.
void remove_run(const fs::path& folder) {
  std::error_code error;
  do {
    fs::remove_all(folder, error);
  } while (fs::exists(folder));
}

std::string copied_snapshot(const TempRun& place, const std::string& from, const std::string& to) {
  const std::string name = "iter-00000014";
  fs::copy(place.path(from) / "snapshots" / name, place.path(to) / "snapshots" / name, fs::copy_options::recursive);
  return name;
}

}  // namespace

TEST_CASE("a run whose folder is removed says so, ends with exit code 4, and leaves the path to others") {
  for (const Words& ranks : {Words{}, Words{"--distributed", "--world-size", "2"}}) {
    const TempRun place;
    EndlessRun run(place, "here", with(ranks, {"--set", "val.pictures=2"}));
    remove_run(place.path("here"));
    place.folder().write("here/notes.txt", "another's");
    const auto outcome = run.process.wait();
    CHECK_EXIT(outcome, 4);
    CHECK_SAYS(outcome, "here'");
    CHECK_SAYS(outcome, "was removed");
    CHECK(std::distance(fs::directory_iterator(place.path("here")), {}) == 1);
  }
}

TEST_CASE("a run whose folder is renamed ends with exit code 4, and goes on under the new name") {
  const TempRun place;
  EndlessRun run(place, "here", {"--set", "snapshot.every=5"});
  REQUIRE(run.process.wait_for([&] { return fs::exists(place.path("here/snapshots/latest")); }));
  fs::rename(place.path("here"), place.path("there"));
  const auto outcome = run.process.wait();
  CHECK_EXIT(outcome, 4);
  CHECK_SAYS(outcome, "was renamed or replaced; it is " + fs::canonical(place.path("there")).string());
  CHECK_FALSE(fs::exists(place.path("here")));
  const auto lines = metrics_of(place.path("there"), "snapshot");
  REQUIRE_FALSE(lines.empty());
  const auto last = lines.back().at("iter").get<std::uint64_t>();
  const auto resumed = place.run({"there", "--max-iter", std::to_string(last + 3)});
  REQUIRE_EXIT(resumed, 0);
  CHECK_SAYS(resumed, "going on after iteration " + std::to_string(last));
}

TEST_CASE("two runs never write one folder, whichever was there first") {
  const TempRun place;
  EndlessRun first(place, "here", {"--seed", "11", "--set", "snapshot.every=20"});
  remove_run(place.path("here"));
  REQUIRE_EXIT(place.train({"--run-dir", "here", "--seed", "22", "--max-iter", "30"}), 0);
  CHECK_EXIT(first.process.wait(), 4);
  std::size_t snapshots = 0;
  for (auto& snapshot : fs::directory_iterator(place.path("here/snapshots"))) {
    CHECK(read_text(snapshot.path() / "config.toml").find("\nseed = 22 ") != std::string::npos);
    ++snapshots;
  }
  CHECK(snapshots >= 4);
  CHECK_EXIT(place.run({"snapshot", "verify", "here"}), 0);
  CHECK(end_of(place.path("here")).iteration == 30);
}

TEST_CASE("a snapshot that was made with another configuration goes on only where that is accepted") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "other", "--seed", "11", "--set", "optim.lr=0.5", "--set", "loader.batch=12",
                            "--max-iter", "14"}),
               0);
  REQUIRE_EXIT(place.train({"--run-dir", "own", "--seed", "22", "--max-iter", "7"}), 0);
  const auto name = copied_snapshot(place, "other", "own");
  const auto refused = place.run({"own", "--max-iter", "20"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "changes that break exact resume: ");
  for (auto text :
       {"run.seed = 22 (was 11)", "optim.lr = 0.05 (was 0.5)", "loader.batch = 16 (was 12)", "--accept-changes"})
    CHECK_SAYS(refused, text);
  CHECK_SAYS(refused, name + " was made: ");
  CHECK_EXIT(place.run({"own", "--iter", "7", "--max-iter", "10"}), 0);  // its own one
}

TEST_CASE("going back to before an accepted change is a change, too") {
  const TempRun place;
  const Words all{"--set", "snapshot.keep_last=100"};
  REQUIRE_EXIT(place.train(with(all, {"--run-dir", "run", "--max-iter", "14"})), 0);
  const Words change{"run", "--set", "optim.lr=0.5", "--max-iter", "21"};
  CHECK_EXIT(place.run(change), 2);
  REQUIRE_EXIT(place.run(with(change, {"--accept-changes"})), 0);
  REQUIRE_EXIT(place.run({"run", "--max-iter", "28"}), 0);  // made with it
  const auto back = place.run({"run", "--iter", "14", "--max-iter", "20"});
  CHECK_EXIT(back, 2);
  CHECK_SAYS(back, "optim.lr = 0.5 (was 0.05)");
  CHECK_EXIT(place.run({"run", "--iter", "14", "--max-iter", "20", "--set", "optim.lr=0.05", "--accept-changes"}), 0);
}

TEST_CASE("a change is not accepted by a start that fails") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "7"}), 0);
  const auto config = read_text(place.path("run/config.toml"));
  const auto failed =
      place.run({"run", "--max-iter", "9", "--set", "net.hidden=[16]", "--set", "optim.lr=0.7", "--accept-changes"});
  CHECK(failed.code != 0);
  CHECK(read_text(place.path("run/config.toml")) == config);
  CHECK_EXIT(place.run({"run", "--max-iter", "9"}), 0);
}

TEST_CASE("--run-dir with files that are not a run's is refused, and they stay as they are") {
  const TempRun place;
  for (const char* name : {"train.log", "env.json", "logs/rank-notes.txt", "flight/rank-x", "metrics.jsonl"})
    place.folder().write(std::string("own/") + name, "mine\n");
  const auto refused = place.train({"--run-dir", "own", "--set", "net.pretrain=absent.safetensors"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "holds no run, but");
  for (const char* name : {"train.log", "env.json", "logs/rank-notes.txt", "flight/rank-x", "metrics.jsonl"})
    CHECK(read_text(place.path("own") / name) == "mine\n");
  place.folder().write("notes/paper.txt", "mine\n");
  CHECK(place.train({"--run-dir", "notes", "--set", "net.pretrain=absent.safetensors"}).code != 0);
  CHECK(read_text(place.path("notes/paper.txt")) == "mine\n");
  CHECK(std::distance(fs::directory_iterator(place.path("notes")), {}) == 1);
  CHECK_EXIT(place.train({"--run-dir", "notes", "--max-iter", "3"}), 0);
}

TEST_CASE("a limit on processor time, and timers, end a run after a snapshot") {
  for (const int signal : {SIGXCPU, SIGALRM}) {
    const TempRun place;
    EndlessRun run(place, "here");
    run.process.send(signal);
    const auto outcome = run.process.wait();
    CHECK_EXIT(outcome, 143);
    CHECK_SAYS(outcome, "interrupted after iteration ");
    CHECK(fs::exists(place.path("here/snapshots/latest/manifest.json")));
  }
}

TEST_CASE("without standard streams a run writes its files, and nothing else into them") {
  for (const char* closed : {"<&- >&- 2>&-", "<&-", ">&- 2>&-"}) {
    const TempRun place;
    auto shell = place.process_options();
    const std::string program = shell.program.string();
    shell.program = "/bin/sh";
    const auto outcome =
        run_program({"-c", "exec " + program + " tiny.toml --run-dir here --max-iter 10 " + closed}, shell);
    REQUIRE_EXIT(outcome, 0);
    CHECK(end_of(place.path("here")).iteration == 10);
    std::ifstream log(place.path("here/train.log"));
    for (std::string line; std::getline(log, line);) CHECK_MESSAGE(line.starts_with("2"), line);
    CHECK_EXIT(place.run({"postmortem", "here"}), 0);  // its flight record is whole
  }
}

TEST_CASE("more workers than a machine can use are bounded, by name") {
  const TempRun place;
  const auto outcome = place.train({"--max-iter", "2", "--workers", "4096", "--set", "val.every=0"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "loader.workers = 4096 (--workers): ");
  CHECK_SAYS(outcome, " are taken, as this machine has ");
}

TEST_CASE("a job that is started again does not go on where its run's folder is gone, or another run's") {
  for (const bool replaced : {false, true}) {
    const TempRun place;
    Process job(with({"tiny.toml", "--run-dir", "here", "--distributed", "--world-size", "2", "--max-restarts", "2",
                      "--set", "display.every=1000000", "--set", "display.tensorboard=false"},
                     endless),
                place.process_options());
    const fs::path flight = place.path("here/flight");
    REQUIRE(
        job.wait_for([&] { return fs::exists(flight / "rank-1.bin") && fs::exists(place.path("here/graph.json")); }));
    const pid_t ranks[] = {rank_process("here", 0), rank_process("here", 1)};
    for (const pid_t rank : ranks) ::kill(rank, SIGSTOP);
    fs::rename(place.path("here"), place.path("there"));
    if (replaced) REQUIRE_EXIT(place.train({"--run-dir", "here", "--max-iter", "3"}), 0);
    for (const pid_t rank : ranks) ::kill(rank, SIGKILL);
    const auto outcome = job.wait();
    CHECK_EXIT(outcome, 4);
    CHECK_SAYS(outcome, "removed, renamed or replaced before its ranks were started again");
    CHECK(fs::exists(place.path("here")) == replaced);
  }
}

TEST_CASE("a run's folder may have a name that is not UTF-8, with one process and with two") {
  const TempRun place;
  for (const Words& ranks : {Words{}, Words{"--distributed", "--world-size", "2"}}) {
    const std::string run = "caf\xe9" + std::to_string(ranks.size());
    REQUIRE_EXIT(place.train(with(ranks, {"--run-dir", run, "--max-iter", "6"})), 0);
    CHECK(end_of(place.path(run)).iteration == 6);
    CHECK_EXIT(place.run(with({"test", run}, ranks)), 0);
    CHECK_EXIT(place.run({"report", run}), 0);
    CHECK_EXIT(place.run({run, "--max-iter", "8"}), 0);
  }
}

TEST_CASE("a file run.lock of another program stays as it is") {
  const TempRun place;
  place.folder().write("own/run.lock", "mine\n");
  CHECK_EXIT(place.train({"--run-dir", "own"}), 2);
  CHECK(read_text(place.path("own/run.lock")) == "mine\n");
}

TEST_CASE("where both limits on processor time are one, a run ends after a snapshot") {
  const TempRun place;
  auto shell = place.process_options();
  const std::string program = shell.program.string();
  shell.program = "/bin/sh";
  const auto outcome = run_program(
      {"-c", "ulimit -t 4; exec " + program + " tiny.toml --run-dir here --max-iter 100000000 --set val.every=0"},
      shell);
  CHECK_EXIT(outcome, 143);
  CHECK_SAYS(outcome, "SIGXCPU");
  CHECK(fs::exists(place.path("here/snapshots/latest/manifest.json")));
}

}  // namespace flowtrain::run_folder_test
