#include "pipeline/base/launch/supervisor.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/expect_error.h"
#include "tests/support/child.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::supervisor_test {

using namespace flowtrain::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr auto url = "tcp://127.0.0.1:29500";
// Where a test must not pass by waiting for it.
constexpr auto for_ever = 10min;

// Ranks that run a shell script, in which $DIR is a folder of this test.
struct Job {
  SpawnPlan plan{.processes = 3, .world = 3};
  SuperviseOptions options{.grace = for_ever, .kill_after = for_ever};
  TempFolder folder;

  int run(const std::string& script) const {
    return supervise(plan, url, {"/bin/sh", "-c", "DIR='" + folder.path().string() + "'\n" + script}, options);
  }
  // In a process of its own, which is the launcher; standard error is captured.
  Child launch(const std::string& script) const {
    return Child(0, [this, script] { return run(script); });
  }
  std::string text(const std::string& name) const { return read_text(folder.path() / name); }
  bool has(const std::string& name) const { return fs::exists(folder.path() / name); }
  void wait_for(const std::string& name) const {
    while (!has(name)) ::usleep(2000);
  }
  // All ranks wrote their process number to pid.RANK, and none of these processes is there any more.
  void check_none_left() const {
    for (int i = 0; i < plan.processes; ++i) {
      const auto pid = std::stoi(text("pid." + std::to_string(plan.first_rank + i)));
      CHECK(::kill(pid, 0) == -1);
    }
  }
};

// A file appears with all of its text. `await` is for files that other ranks write.
constexpr auto note =
    "note() { echo \"$2\" > $DIR/.$1 && mv $DIR/.$1 $DIR/$1; }\n"
    "await() { for name; do while ! test -e $DIR/$name; do sleep 0.01; done; done; }\n"
    "note pid.$RANK $$\n";

std::string script(const std::string& body) { return note + body; }

}  // namespace

TEST_CASE("each rank learns its place, and keeps the environment") {
  Job job;
  job.plan = {.first_rank = 4, .processes = 2, .world = 6, .node = 2};
  ::setenv("FLOWTRAIN_TEST_KEPT", "kept", 1);
  ::setenv("RANK", "77", 1);
  CHECK(job.run(script("note place.$RANK \"$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $FLOWTRAIN_URL "
                       "$FLOWTRAIN_RESTART $FLOWTRAIN_SPAWNED $FLOWTRAIN_TEST_KEPT $(env | grep -c ^RANK=)\"")) == 0);
  ::unsetenv("RANK");
  ::unsetenv("FLOWTRAIN_TEST_KEPT");
  CHECK(job.text("place.4") == "4 6 0 2 2 tcp://127.0.0.1:29500 0 1 kept 1\n");
  CHECK(job.text("place.5") == "5 6 1 2 2 tcp://127.0.0.1:29500 0 1 kept 1\n");
}

TEST_CASE("clean ends") {
  Job job;
  job.plan.max_restarts = 3;
  job.options.on_death = [](int, const std::string&) { FAIL_CHECK("nobody failed"); };
  CHECK(job.run("exit 0") == 0);
  CHECK(job.run("exit 130") == 130);
  CHECK(job.run("exit 143") == 143);
  CHECK(job.run("test $RANK = 1 || exit 143") == 143);
}

TEST_CASE("the rank that fails first is to blame, once") {
  const struct {
    const char* failure;
    int exit_code;
    const char* how;
  } cases[] = {{"exit 2", 2, "ended with exit code 2"},       {"exit 5", 5, "ended with exit code 5"},
               {"exit 6", 6, "ended with exit code 6"},       {"exit 70", 70, "ended with exit code 70"},
               {"exit 255", 255, "ended with exit code 255"}, {"kill -9 $$", 6, "was killed by SIGKILL"},
               {"kill -TERM $$", 6, "was killed by SIGTERM"},  // nobody asked the launcher for an end
               {"kill -SEGV $$", 6, "was killed by SIGSEGV"}, {"kill -40 $$", 6, "was killed by signal 40"}};
  for (const auto& [failure, exit_code, how] : cases) {
    Job job;
    // The others see that rank 1 is gone when it is told, and then fail, too.
    job.options.on_death = [&](int rank, const std::string& what) {
      log_info(concat("told: ", rank, " ", what));
      std::ofstream(job.folder.path() / "told") << what;
    };
    auto result = job.launch("test $RANK != 1 || " + std::string(failure) +
                             "\nwhile ! test -e $DIR/told; do sleep 0.01; done; exit 3")
                      .wait();
    CHECK(result.exit_code == exit_code);
    const bool has_shown_error = std::string(how).find("exit code") != std::string::npos && exit_code < 128;
    CHECK(result.output ==
          (has_shown_error ? "rank 1 " : "error: rank 1 ") + std::string(how) + "\ntold: 1 " + how + "\n");
  }
}

TEST_CASE("exit code 6 gives way to the failure behind it") {
  Job job;
  job.options.grace = job.options.blame_wait = 10min;
  job.plan.max_restarts = 3;
  // The ranks that lost a peer are gone before the peer is.
  auto result = job.launch(script("if test $RANK != 2; then note lost.$RANK; exit 6; fi\n"
                                  "await lost.0 lost.1; exit 5"))
                    .wait();
  CHECK(result.exit_code == 5);
  CHECK(result.output == "rank 2 ended with exit code 5\n");
}

TEST_CASE("ranks that do not end by themselves are ended") {
  Job job;
  job.options.grace = 200ms;
  SUBCASE("by SIGTERM") {
    auto result = job.launch(script("if test $RANK = 0; then await ready.1 ready.2; exit 4; fi\n"
                                    "trap 'note term.$RANK; exit 143' TERM; note ready.$RANK\n"
                                    "while :; do sleep 0.01; done"))
                      .wait();
    CHECK(result.exit_code == 4);
    CHECK(result.output == "rank 0 ended with exit code 4\n");
    CHECK(job.has("term.1"));
    CHECK(job.has("term.2"));
  }
  SUBCASE("by SIGKILL") {
    job.options.kill_after = 200ms;
    auto result = job.launch(script("trap '' TERM; note ready.$RANK\n"
                                    "if test $RANK = 0; then await ready.1 ready.2; exit 4; fi\n"
                                    "while :; do sleep 0.01; done"))
                      .wait();
    CHECK(result.exit_code == 4);
    CHECK(result.output == "rank 0 ended with exit code 4\n");
  }
  job.check_none_left();
}

TEST_CASE("ranks start again after a death, as often as allowed") {
  Job job;
  int deaths = 0;
  job.options.grace = 0ms;
  job.plan.max_restarts = 2;
  job.options.on_death = [&](int rank, const std::string&) {
    CHECK(rank == 1);
    ++deaths;
  };
  const std::string fail = "await pid.0 pid.2; test $RANK != 1 || ";  // the others are there to be ended
  const std::string hang = "\nexec sleep 600";
  SUBCASE("until it works") {
    CHECK(job.run(script("note start.$FLOWTRAIN_RESTART.$RANK; test $FLOWTRAIN_RESTART -lt 2 || exit 0\n" + fail +
                         "kill -9 $$") +
                  hang) == 0);
    CHECK(deaths == 2);
    for (const char* start : {"start.2.0", "start.2.1", "start.2.2"}) CHECK(job.has(start));
    CHECK_FALSE(job.has("start.3.0"));
  }
  SUBCASE("or not") {
    CHECK(job.run(script("note start.$FLOWTRAIN_RESTART.$RANK\n" + fail + "exit 6") + hang) == 6);
    CHECK(deaths == 3);
    CHECK(job.has("start.2.1"));
    CHECK_FALSE(job.has("start.3.1"));
  }
  SUBCASE("what the user has to mend is not tried again") {
    for (int code : {2, 3, 4, 5}) {
      CHECK(job.run(script(std::string(fail).append("exit ").append(std::to_string(code))).append(hang)) == code);
    }
    CHECK(deaths == 4);
  }
  job.check_none_left();
}

TEST_CASE("a restart is announced") {
  Job job;
  job.plan = {.max_restarts = 1};
  auto result = job.launch("test $FLOWTRAIN_RESTART = 1 || kill -9 $$").wait();
  CHECK(result.exit_code == 0);
  CHECK(result.output ==
        "error: rank 0 was killed by SIGKILL\n"
        "warning: starting all ranks again after rank 0 was killed by SIGKILL (restart 1 of 1)\n");
}

TEST_CASE("signals sent to the launcher reach the ranks") {
  const std::map<int, std::pair<std::string, int>> cases = {
      {SIGINT, {"INT", 130}}, {SIGTERM, {"TERM", 143}}, {SIGHUP, {"HUP", 143}}, {SIGUSR1, {"USR1", 143}}};
  for (const auto& [signal, expected] : cases) {
    const auto& [name, exit_code] = expected;
    Job job;
    job.plan.max_restarts = 3;
    auto child = job.launch(script("trap 'note got.$RANK; exit " + std::to_string(exit_code) + "' " + name +
                                   "; note ready.$RANK; while :; do sleep 0.01; done"));
    for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
    child.kill(signal);
    auto result = child.wait();
    CHECK(result.exit_code == exit_code);
    CHECK(result.output.empty());
    for (const char* got : {"got.0", "got.1", "got.2"}) CHECK(job.has(got));
  }
}

TEST_CASE("a rank that is interrupted before it can catch the signal is no failure") {
  Job job;
  job.plan.max_restarts = 3;
  auto child = job.launch(script("note ready.$RANK; exec sleep 600"));
  for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
  child.kill(SIGTERM);
  auto result = child.wait();
  CHECK(result.exit_code == 143);
  CHECK(result.output.empty());
}

TEST_CASE("a rank that loses one which ended as it was asked to is no failure") {
  for (const char* first : {"0", "2"}) {
    Job job;
    job.plan.max_restarts = 3;
    auto child = job.launch(script(std::string("trap 'if test $RANK = ") + first +
                                   "; then note ended; exit 143; else await ended; exit 6; fi' TERM\n"
                                   "note ready.$RANK; while :; do sleep 0.01; done"));
    for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
    child.kill(SIGTERM);
    auto result = child.wait();
    CHECK(result.exit_code == 143);
    CHECK(result.output.empty());
  }
}

TEST_CASE("under nohup neither the launcher nor its ranks heed SIGHUP") {
  Job job;
  auto child = Child(0, [&job] {
    ::signal(SIGHUP, SIG_IGN);
    return job.run(script("note ready.$RANK; await asked; kill -HUP $$; exit 0"));
  });
  for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
  child.kill(SIGHUP);
  const std::ofstream asked(job.folder.path() / "asked");
  CHECK(child.wait().exit_code == 0);
}

struct OnTerminal {
  pid_t launcher;
  int terminal;
};

/// Starts two ranks from a launcher with a terminal of its own, in which `signal` is not ignored; returns once both are
/// ready.
OnTerminal launch_on_terminal(Job& job, int signal, const std::string& commands) {
  job.plan = {.processes = 2, .world = 2};
  OnTerminal started{-1, -1};
  started.launcher = ::forkpty(&started.terminal, nullptr, nullptr, nullptr);
  REQUIRE(started.launcher >= 0);
  if (started.launcher == 0) {
    ::signal(signal, SIG_DFL);
    ::_exit(job.run(script(commands)));
  }
  job.wait_for("ready.0");
  job.wait_for("ready.1");
  return started;
}

TEST_CASE("a terminal that is closed ends the launcher's ranks, too") {
  Job job;
  const auto [launcher, terminal] = launch_on_terminal(
      job, SIGHUP, "trap 'note got.$RANK; exit 143' HUP; note ready.$RANK; while :; do sleep 0.01; done");
  ::close(terminal);
  int status = 0;
  CHECK(::waitpid(launcher, &status, 0) == launcher);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 143);
  CHECK(job.has("got.0"));
  CHECK(job.has("got.1"));
}

TEST_CASE("an interrupted job does not start again") {
  Job job;
  job.plan.max_restarts = 3;
  auto child = job.launch(script("trap 'exit 6' TERM; note ready.$RANK; while :; do sleep 0.01; done"));
  for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
  child.kill(SIGTERM);
  CHECK(child.wait().exit_code == 6);
}

TEST_CASE("Ctrl-C reaches each rank once" * doctest::test_suite("full")) {
  Job job;
  const auto [launcher, terminal] = launch_on_terminal(job, SIGINT,
                                                       "trap 'echo got >> $DIR/got.$RANK' INT; note ready.$RANK\n"
                                                       "while ! test -e $DIR/stop; do sleep 0.01; done; exit 130");
  REQUIRE(::write(terminal, "\x03", 1) == 1);
  job.wait_for("got.0");
  job.wait_for("got.1");
  ::usleep(100'000);  // a second one would be on its way
  const std::ofstream stop(job.folder.path() / "stop");
  int status = 0;
  CHECK(::waitpid(launcher, &status, 0) == launcher);
  ::close(terminal);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(job.text("got.0") == "got\n");
  CHECK(job.text("got.1") == "got\n");
}

TEST_CASE("no rank outlives a launcher that was killed") {
  Job job;
  auto child =
      job.launch(script("trap 'note ended.$RANK; exit 143' TERM; note ready.$RANK; while :; do sleep 0.01; done"));
  for (const char* ready : {"ready.0", "ready.1", "ready.2"}) job.wait_for(ready);
  child.kill(SIGKILL);
  CHECK(child.wait().signal == SIGKILL);  // ends when the ranks have closed its standard error
  for (const char* ended : {"ended.0", "ended.1", "ended.2"}) CHECK(job.has(ended));
}

TEST_CASE("a program that is not there") {
  const SpawnPlan plan{.processes = 2, .world = 2};
  expect_error(ExitCode::distributed, "cannot start /nowhere/flowtrain: No such file or directory",
               [&] { supervise(plan, url, {"/nowhere/flowtrain"}); });
  CHECK(supervise(plan, url, {"/bin/true"}) == 0);  // nothing is left that would be in the way
}

TEST_CASE("one launcher at a time") {
  Job job;
  job.options.on_death = [&](int, const std::string&) {
    CHECK_THROWS_AS(supervise({}, url, {"/bin/true"}), InternalError);
  };
  CHECK(job.run("exit 3") == 3);
}

TEST_CASE("a hook that throws leaves no rank behind") {
  Job job;
  job.options.on_death = [](int, const std::string&) { throw std::runtime_error("no store"); };
  CHECK_THROWS_WITH(job.run(script("if test $RANK = 1; then await pid.0 pid.2; exit 5; fi\nexec sleep 600")),
                    "no store");
  job.check_none_left();
}

}  // namespace flowtrain::supervisor_test
