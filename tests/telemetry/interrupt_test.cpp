#include "pipeline/telemetry/interrupt.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>

#include "pipeline/telemetry/log.h"
#include "sampling/error.h"
#include "tests/telemetry/child.h"

using namespace flowtrain;
using namespace flowtrain::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto kEvery = 0ms;  // any other signal is a second one
constexpr auto kNever = 24h;  // any other signal counts as the first

// A run that asks for a clean end at the first signal, and says so; `tail` is what it does then.
Child run_until_asked(
    std::chrono::milliseconds same_signal, std::function<void()> tail = [] {}) {
  return Child(0, [=] {
    Interrupt interrupt(same_signal);
    log_info("ready");
    while (!interrupt.requested()) ::usleep(1000);
    log_info("asked");
    tail();
    return Interrupt::exit_code(*interrupt.requested());
  });
}

}  // namespace

TEST_CASE("the first signal is a request") {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    auto child = run_until_asked(kEvery);
    child.wait_for("ready");
    child.kill(signal);
    auto result = child.wait();
    CHECK(result.exit_code == (signal == SIGINT ? 130 : 143));
    CHECK(result.output == "ready\nasked\n");
  }
}

TEST_CASE("the second signal, of either kind, ends the process at once") {
  for (int second : {SIGINT, SIGTERM}) {
    auto child = run_until_asked(kEvery, [] { ::sleep(60); });
    child.wait_for("ready");
    child.kill(SIGINT);
    child.wait_for("asked");
    child.kill(second);
    auto result = child.wait();
    CHECK(result.exit_code == (second == SIGINT ? 130 : 143));
    CHECK(result.output == "ready\nasked\nstopped at once by a second signal\n");
  }
}

TEST_CASE("who preempts does not wait for ever") {
  for (int signal : {SIGTERM, SIGUSR1})
    for (bool early : {false, true}) {
      auto result = run_child(0, [signal, early] {
        Interrupt interrupt(kNever);
        if (early) ::raise(signal);
        interrupt.set_grace(1ms);
        if (!early) ::raise(signal);
        for (;;) ::pause();
        return 0;
      });
      CHECK(result.exit_code == 143);
      CHECK(result.output.find("run.grace") != std::string::npos);
    }
}

// What never happens can only be waited for: not a test of tier fast.
TEST_CASE("who pressed Ctrl-C may wait for ever" * doctest::test_suite("full")) {
  for (bool early : {false, true}) {
    auto result = run_child(0, [early] {
      Interrupt interrupt(kNever);
      if (early) ::raise(SIGINT);
      interrupt.set_grace(1ms);
      if (!early) ::raise(SIGINT);
      ::usleep(200'000);
      return 0;
    });
    CHECK(result.exit_code == 0);
    CHECK(result.output.empty());
  }
}

TEST_CASE("a clean end within the grace period is a clean end, and does not last as long") {
  auto result = run_child(0, [] {
    {
      Interrupt interrupt(kNever);
      interrupt.set_grace(24h);
      ::raise(SIGTERM);
    }
    return 7;
  });
  CHECK(result.exit_code == 7);
  CHECK(result.output.empty());
}

TEST_CASE("a signal sent twice in a row is one request") {
  auto result = run_child(0, [] {
    Interrupt interrupt(kNever);
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    ::raise(SIGINT);
    return Interrupt::exit_code(*interrupt.requested());
  });
  CHECK(result.exit_code == 143);
}

TEST_CASE("a reader of the output that goes away does not end the run") {
  auto result = run_child(0, [] {
    Interrupt interrupt;
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    ::close(ends[0]);
    return ::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 1;
  });
  CHECK(result.exit_code == 0);
}

TEST_CASE("the old handlers come back") {
  auto result = run_child(0, [] {
    ::signal(SIGTERM, SIG_IGN);
    { Interrupt interrupt; }
    ::raise(SIGTERM);
    {
      Interrupt again;
      if (again.requested()) return 1;
      ::raise(SIGINT);
      if (again.requested() != SIGINT) return 2;
    }
    ::raise(SIGINT);  // the default again: ends the process
    return 3;
  });
  CHECK(result.signal == SIGINT);
}

TEST_CASE("two at a time are a bug") {
  Interrupt one;
  CHECK_THROWS_WITH_AS(Interrupt(), "two Interrupt objects at a time", InternalError);
  CHECK_FALSE(one.requested());
}
