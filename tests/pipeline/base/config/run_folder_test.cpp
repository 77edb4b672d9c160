#include "pipeline/base/config/run_folder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>

#include "sampling/core/error.h"
#include "tests/pipeline/base/config/support.h"
#include "tests/support/skip.h"

namespace flowtrain::run_folder_test {

using flowtrain::TempFolder;
using flowtrain::testing::failure_of;
namespace fs = std::filesystem;

namespace {
void make_run(const fs::path& path) {
  fs::create_directories(path);
  std::ofstream(path / "config.toml") << "name = \"x\"\n";
}
}  // namespace

TEST_CASE("fresh starts never share a folder") {
  TempFolder temp;
  auto runs = temp / "deep/runs";
  auto first = RunFolder::create(runs, "net");
  auto second = RunFolder::create(runs, "net");
  auto third = RunFolder::create(runs, "net");
  CHECK(first.path() == runs / "net");
  CHECK(second.path() == runs / "net-2");
  CHECK(third.path() == runs / "net-3");
  CHECK(fs::is_directory(first.snapshots()));
  CHECK(third.config_file() == runs / "net-3" / "config.toml");
}

TEST_CASE("a fresh start takes a number above all others, so that the newest run has the greatest") {
  TempFolder temp;
  make_run(temp / "net-7");
  fs::create_directories(temp / "net-old");
  fs::create_directories(temp / "net-09");
  fs::create_directories(temp / "network");
  temp.write("other-3", "");
  CHECK(RunFolder::create(temp.path(), "net").path() == temp / "net-8");
  CHECK(RunFolder::create(temp.path(), "other").path() == temp / "other-4");
  CHECK(RunFolder::create(temp.path(), "netwo").path() == temp / "netwo");
}

TEST_CASE("the newest run has the greatest number, and exactly the name") {
  TempFolder temp;
  CHECK_FALSE(newest_run(temp.path(), "net"));
  CHECK_FALSE(newest_run(temp / "absent", "net"));
  make_run(temp / "network-5");
  make_run(temp / "net-wide");
  make_run(temp / "net-02");
  make_run(temp / "net-1");
  CHECK_FALSE(newest_run(temp.path(), "net"));
  make_run(temp / "net");
  CHECK(newest_run(temp.path(), "net") == temp / "net");
  make_run(temp / "net-9");
  make_run(temp / "net-10");
  CHECK(newest_run(temp.path(), "net") == temp / "net-10");
  fs::create_directories(temp / "net-11" / "snapshots");  // a start that came to nothing
  CHECK(newest_run(temp.path(), "net") == temp / "net-10");
}

TEST_CASE("--run-dir takes a new or empty folder, not one that holds a run") {
  TempFolder temp;
  { CHECK(RunFolder::create_at(temp / "a/b").path() == temp / "a/b"); }
  CHECK(RunFolder::create_at(temp / "a/b").path() == temp / "a/b");  // nothing was written there
  make_run(temp / "full");
  temp.write("half/snapshots/iter-00000001/state.json", "{}");
  for (std::string name : {"full", "half"}) {
    auto failure = failure_of([&] { RunFolder::create_at(temp / name); });
    REQUIRE(failure);
    CHECK(failure->code == ExitCode::usage);
    CHECK(failure->message == "--run-dir '" + (temp / name).string() + "' already holds a run");
    CHECK(failure->hint == "go on in it with --resume auto or --iter N, name another --run-dir, or remove it");
  }
}

TEST_CASE("--run-dir refuses a folder with files that a run would write into, and leaves them alone") {
  for (const char* name : {"train.log", "env.json", "metrics.jsonl", "verify.jsonl", "result.json",
                           "logs/rank-notes.txt", "flight/rank-x", "pictures/mine.png"}) {
    TempFolder temp;
    temp.write(std::string("own/") + name, "mine");
    auto failure = failure_of([&] { RunFolder::create_at(temp / "own"); });
    REQUIRE_MESSAGE(failure, name);
    CHECK(failure->code == ExitCode::usage);
    CHECK(failure->message.find("holds no run, but '" + std::string(name).substr(0, std::string(name).find('/'))) !=
          std::string::npos);
    CHECK(failure->hint.find("another --run-dir") != std::string::npos);
    CHECK(fs::file_size(temp / "own" / name) == 4);
  }
}

TEST_CASE("a start that failed takes away what it has made, and nothing else") {
  TempFolder temp;
  const auto fill = [](const fs::path& run) {
    for (const char* name : {"config.toml", "env.json", "train.log", "logs/rank-1.log", "flight/rank-0.bin"}) {
      fs::create_directories((run / name).parent_path());
      std::ofstream(run / name) << "x";
    }
  };
  fs::create_directories(temp / "old/logs");
  temp.write("old/notes.txt", "mine");
  for (const char* name : {"old", "new"}) {
    const auto folder = RunFolder::create_at(temp / name);
    fill(folder.path());
    folder.discard()();
  }
  CHECK_FALSE(fs::exists(temp / "new"));
  CHECK(fs::exists(temp / "old/notes.txt"));
  CHECK(fs::is_empty(temp / "old/logs"));
  CHECK_FALSE(fs::exists(temp / "old/train.log"));
  CHECK_FALSE(fs::exists(temp / "old/flight"));

  fs::create_directories(temp / "empty");
  { RunFolder::create_at(temp / "empty").discard()(); }
  CHECK(fs::is_empty(temp / "empty"));

  const auto moved = RunFolder::create_at(temp / "moved");
  fs::rename(temp / "moved", temp / "away");
  fill(temp / "moved");  // another's
  moved.discard()();
  CHECK(fs::exists(temp / "moved/train.log"));
}

TEST_CASE("opening goes on in a run and in nothing else") {
  TempFolder temp;
  make_run(temp / "net");
  CHECK(RunFolder::open(temp / "net").path() == temp / "net");
  auto failure = failure_of([&] { RunFolder::open(temp / "absent"); });
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::usage);
  CHECK(failure->message == "there is no run in '" + (temp / "absent").string() + "'");
  CHECK_FALSE(fs::exists(temp / "absent"));
  for (const char* name : {"net", "net/", "net/.", "other/../net/"}) CHECK(run_name(temp.path() / name) == "net");
}

TEST_CASE("one run has one writer, and the lock ends with it") {
  TempFolder temp;
  make_run(temp / "net");
  {
    auto held = RunFolder::open(temp / "net");
    auto moved = std::move(held);
    auto failure = failure_of([&] { RunFolder::open(temp / "net"); });
    REQUIRE(failure);
    CHECK(failure->code == ExitCode::snapshot);
    CHECK(failure->message ==
          "the run in '" + (temp / "net").string() + "' is being written by process " + std::to_string(getpid()));
    CHECK(failure->hint.find("--run-dir") != std::string::npos);
  }
  CHECK(RunFolder::open(temp / "net").path() == temp / "net");
}

TEST_CASE("a process that dies leaves no lock behind") {
  TempFolder temp;
  make_run(temp / "net");
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  auto child = fork();
  if (child == 0) {
    auto held = RunFolder::open(temp / "net");
    char byte = 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  auto failure = failure_of([&] { RunFolder::open(temp / "net"); });
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  REQUIRE(failure);
  CHECK(failure->message.ends_with("process " + std::to_string(child)));
  CHECK(RunFolder::open(temp / "net").path() == temp / "net");
}

TEST_CASE("a folder that cannot be made is reported with the system's reason") {
  TempFolder temp;
  auto file = temp.write("file", "not a folder");
  auto refused = [&](auto action, const std::string& path, const std::string& reason) {
    auto failure = failure_of(action);
    REQUIRE(failure);
    CHECK(failure->code == ExitCode::snapshot);
    CHECK(failure->message == "cannot make the folder '" + path + "': " + reason);
    CHECK(failure->hint == "give a folder that can be written: --run-dir DIR, or --set run.dir=DIR");
  };
  refused([&] { RunFolder::create(file, "net"); }, file.string(), "Not a directory");
  refused([&] { RunFolder::create_at(file / "net"); }, (file / "net").string(), "Not a directory");
  refused([&] { RunFolder::create("/proc/flowtrain", "net"); }, "/proc/flowtrain", "No such file or directory");
}

TEST_CASE("a folder without permission is reported with the system's reason") {
  SKIP_UNLESS(geteuid() != 0, "no-root", "root may write to every folder");
  TempFolder temp;
  fs::create_directories(temp / "shut");
  fs::permissions(temp / "shut", fs::perms::owner_read | fs::perms::owner_exec);
  const auto failure = failure_of([&] { RunFolder::create(temp / "shut", "net"); });
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::snapshot);
  CHECK(failure->message == "cannot make the folder '" + (temp / "shut/net").string() + "': Permission denied");
}

TEST_CASE("a run's folder may stand for a configuration") {
  TempFolder temp;
  make_run(temp / "net");
  CHECK(as_run_folder(temp / "net") == temp / "net");
  CHECK_FALSE(as_run_folder(temp.write("a.toml", "")));
  CHECK_FALSE(as_run_folder(temp / "absent.toml"));
  auto failure = failure_of([&] { as_run_folder(temp.path()); });
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::usage);
  CHECK(failure->message == "'" + temp.path().string() + "' is a folder without config.toml: not a run");
}

}  // namespace flowtrain::run_folder_test
