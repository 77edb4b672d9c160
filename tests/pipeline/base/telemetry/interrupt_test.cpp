#include "pipeline/base/telemetry/interrupt.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "stages/system/signals.h"
#include "tests/support/child.h"

namespace flowtrain::interrupt_test {

using namespace flowtrain::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto every = 0ms;  // any other signal is a second one
constexpr auto never = 24h;  // any other signal counts as the first

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
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, SIGALRM, SIGVTALRM, SIGPWR}) {
    auto child = run_until_asked(every);
    child.wait_for("ready");
    child.kill(signal);
    auto result = child.wait();
    CHECK(result.exit_code == (signal == SIGINT ? 130 : 143));
    CHECK(result.output == "ready\nasked\n");
  }
}

TEST_CASE("signals that come several times for one reason are never a second one") {
  for (int signal : {SIGHUP, SIGXCPU}) {
    auto child = run_until_asked(every, [] { ::usleep(300'000); });
    child.wait_for("ready");
    child.kill(signal);
    child.wait_for("asked");
    child.kill(signal);
    const auto result = child.wait();
    CHECK(result.exit_code == 143);
    CHECK(result.output == "ready\nasked\n");
  }
}

TEST_CASE("a write beyond the limit on files' sizes is an error, and no end") {
  for (auto& rule : signal_rules)
    if (rule.action == OnSignal::ignore) {
      auto child = Child(0, [&rule] {
        prepare_descriptors_and_signals();
        ::raise(rule.signal);
        return 7;
      });
      CHECK(child.wait().exit_code == 7);
    }
}

TEST_CASE("closed standard streams lead to nowhere, and no file gets their numbers") {
  auto child = Child(0, [] {
    for (const int each : {0, 1, 2}) ::close(each);
    prepare_descriptors_and_signals();
    const int next = ::open("/dev/null", O_RDONLY);
    return next > 2 && ::write(1, "x", 1) == 1 && ::write(2, "x", 1) == 1 ? 7 : 1;
  });
  CHECK(child.wait().exit_code == 7);
}

TEST_CASE("the second signal, of either kind, ends the process at once") {
  for (int second : {SIGINT, SIGTERM}) {
    auto child = run_until_asked(every, [] { ::sleep(60); });
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
  for (int signal : {SIGTERM, SIGHUP, SIGUSR1})
    for (bool early : {false, true}) {
      auto result = run_child(0, [signal, early] {
        Interrupt interrupt(never);
        if (early) ::raise(signal);
        interrupt.set_grace(1ms);
        if (!early) ::raise(signal);
        for (;;) ::pause();
        return 0;
      });
      CHECK(result.exit_code == 143);
      CHECK(result.output.find("run.grace_seconds") != std::string::npos);
    }
}

// What never happens can only be waited for: not a test of tier fast.
TEST_CASE("who pressed Ctrl-C may wait for ever" * doctest::test_suite("full")) {
  for (bool early : {false, true}) {
    auto result = run_child(0, [early] {
      Interrupt interrupt(never);
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
      Interrupt interrupt(never);
      interrupt.set_grace(24h);
      ::raise(SIGTERM);
    }
    return 7;
  });
  CHECK(result.exit_code == 7);
  CHECK(result.output.empty());
}

TEST_CASE("SIGHUP never is a second signal, as a terminal that goes away sends it several times") {
  auto result = run_child(0, [] {
    Interrupt interrupt(every);
    ::raise(SIGTERM);
    for (int i = 0; i < 3; ++i) ::raise(SIGHUP);
    return Interrupt::exit_code(*interrupt.requested());
  });
  CHECK(result.exit_code == 143);
  CHECK(result.output.empty());
}

TEST_CASE("SIGHUP that was ignored before, as nohup does, stays ignored") {
  auto result = run_child(0, [] {
    ::signal(SIGHUP, SIG_IGN);
    const Interrupt interrupt;
    ::raise(SIGHUP);
    return interrupt.requested() ? 1 : 0;
  });
  CHECK(result.exit_code == 0);
}

TEST_CASE("where nothing is to be saved a signal ends the process at once, whatever it is doing") {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    for (bool early : {false, true}) {
      auto result = run_child(0, [signal, early] {
        Interrupt interrupt;
        if (early) ::raise(signal);
        interrupt.end_at_once();
        if (!early) ::raise(signal);
        for (;;) ::pause();
        return 0;
      });
      CHECK(result.exit_code == (signal == SIGINT ? 130 : 143));
      CHECK(result.output == "interrupted by " + signal_name(signal) + " before there was anything to save\n");
    }
}

TEST_CASE("a command that saves nothing speaks of nothing to save when a signal ends it") {
  auto result = run_child(0, [] {
    Interrupt interrupt;
    interrupt.end_at_once();
    interrupt.saves_nothing();
    ::raise(SIGINT);
    for (;;) ::pause();
    return 0;
  });
  CHECK(result.exit_code == 130);
  CHECK(result.output == "interrupted by SIGINT\n");
}

TEST_CASE("what a start has made is taken away before such an end") {
  auto result = run_child(0, [] {
    Interrupt interrupt;
    interrupt.end_at_once();
    interrupt.set_cleanup([] { log_info("taken away"); });
    ::raise(SIGTERM);
    for (;;) ::pause();
    return 0;
  });
  CHECK(result.exit_code == 143);
  CHECK(result.output.starts_with("taken away\ninterrupted by SIGTERM"));
}

TEST_CASE("a signal waits for what defers the end, and then ends the process") {
  auto result = run_child(0, [] {
    Interrupt interrupt;
    interrupt.end_at_once();
    {
      const Interrupt::Deferral outer(&interrupt), none(nullptr);
      ::raise(SIGTERM);
      { const Interrupt::Deferral inner(&interrupt); }
      while (!interrupt.token().stop_requested()) ::usleep(1000);  // the other thread has let it be
      log_info("still here");
    }
    return 7;
  });
  CHECK(result.exit_code == 143);
  CHECK(result.output == "still here\ninterrupted by SIGTERM before there was anything to save\n");
}

TEST_CASE("a standard error that takes nothing more does not keep the process") {
  auto child = Child(0, [] {
    ::fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    while (::write(STDERR_FILENO, "x", 1) == 1) {
    }
    ::fcntl(STDERR_FILENO, F_SETFL, 0);
    Interrupt interrupt(never);
    interrupt.set_grace(1ms);
    ::raise(SIGTERM);
    for (;;) ::pause();
    return 0;
  });
  CHECK(child.wait_without_reading().exit_code == 143);
}

TEST_CASE("a signal sent twice in a row is one request") {
  auto result = run_child(0, [] {
    Interrupt interrupt(never);
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

}  // namespace flowtrain::interrupt_test
