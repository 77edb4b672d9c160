#include "pipeline/base/telemetry/log.h"

#include <doctest/doctest.h>

#include <regex>
#include <thread>
#include <vector>

#include "pipeline/base/telemetry/console.h"
#include "sampling/core/error.h"
#include "tests/support/child.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::log_test {

using namespace flowtrain::testing;

namespace {

int log_one_of_each() {
  log_debug("d");
  log_info("i {}");
  log_warn("w");
  log_error("e");
  return 0;
}

std::string console_of(int columns, ConsoleLevel level) {
  return run_child(columns,
                   [=] {
                     set_console_level(level);
                     return log_one_of_each();
                   })
      .output;
}

std::string without_times(const std::string& log) {
  return std::regex_replace(log, std::regex("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3} "), "");
}

}  // namespace

TEST_CASE("say joins its parts") {
  CHECK(concat("epoch ", 3, " of ", 2.5, '!') == "epoch 3 of 2.5!");
  CHECK(concat() == "");
}

TEST_CASE("the console shows what its level allows") {
  CHECK(console_of(0, ConsoleLevel::quiet) == "warning: w\nerror: e\n");
  CHECK(console_of(0, ConsoleLevel::normal) == "i {}\nwarning: w\nerror: e\n");
  CHECK(console_of(0, ConsoleLevel::verbose) == "d\ni {}\nwarning: w\nerror: e\n");
}

TEST_CASE("colours only on a terminal that wants them") {
  CHECK(console_of(80, ConsoleLevel::quiet) == "\033[1;33mwarning:\033[0m w\r\n\033[1;31merror:\033[0m e\r\n");
  auto with = [](const char* name, const char* value) {
    return run_child(80,
                     [=] {
                       ::setenv(name, value, 1);
                       log_warn("w");
                       return 0;
                     })
        .output;
  };
  CHECK(with("NO_COLOR", "1") == "warning: w\r\n");
  CHECK(with("NO_COLOR", "") == "\033[1;33mwarning:\033[0m w\r\n");
  CHECK(with("TERM", "dumb") == "warning: w\r\n");
}

TEST_CASE("the log file gets everything, also what came before it, and is appended to") {
  TempFolder folder;
  auto path = folder.path() / "train.log";
  for (int run = 0; run < 2; ++run) {
    run_child(0, [&] {
      set_console_level(ConsoleLevel::quiet);
      log_info("early");
      set_log_file(path);
      return log_one_of_each();
    });
  }
  std::string once = "info    early\ndebug   d\ninfo    i {}\nwarning w\nerror   e\n";
  CHECK(without_times(read_text(path)) == once + once);
}

TEST_CASE("a log file that cannot be opened is the user's error") {
  try {
    set_log_file("/proc/nowhere/train.log");
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(std::string(error.what()).starts_with("cannot open the log file /proc/nowhere/train.log: "));
    CHECK(error.hint() == "choose another folder with --run-dir, or make this one writable");
  }
}

TEST_CASE("a full disk is reported once, and the console goes on") {
  auto result = run_child(0, [] {
    set_log_file("/dev/full");
    for (int i = 0; i < 3; ++i) log_info("line");
    return 0;
  });
  CHECK(result.exit_code == 0);
  CHECK(result.output ==
        "line\nwarning: the log file has gaps: Failed flush to file /dev/full: No space left on device\nline\nline\n");
}

TEST_CASE("lines of many threads are never torn, not even by the status line") {
  auto result = run_child(60, [] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 200; ++i) log_info("0123456789012345678901234567890123456789");
      });
    }
    for (int i = 0; i < 200; ++i) console::show_status([](int) { return "status"; });
    threads.clear();
    console::end_status();
    return 0;
  });
  auto rest = std::regex_replace(result.output, std::regex("0123456789012345678901234567890123456789\r\n"), "#");
  CHECK(std::count(rest.begin(), rest.end(), '#') == 800);
  rest = std::regex_replace(rest, std::regex("\rstatus\033\\[J\r|\r\033\\[J#(status\r)|#"), "");
  CHECK(rest == "\r\033[Jstatus\r\n");
}

}  // namespace flowtrain::log_test
