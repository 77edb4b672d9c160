#include "pipeline/base/telemetry/progress.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "tests/support/child.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::progress_test {

using flowtrain::testing::run_child;

namespace {

const Progress some{.iter = 100,
                    .max_iter = 1000,
                    .epoch = 1,
                    .loss = 0.43124,
                    .lr = 0.05,
                    .samples_per_s = 2310.4,
                    .data_wait = 0.004,
                    .eta_s = 12};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the plain line") {
  CHECK(format_line(some) == "iter 100/1000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  data wait 0.4 %  eta 12s");
  Progress limited = some;
  limited.limit = "compute";
  limited.limit_share = 0.996;
  limited.queue_fill = 0.8;  // for the bar
  CHECK(format_line(limited) ==
        "iter 100/1000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  limit compute 99.6 %  eta 12s");
  limited.limit = "sample";
  limited.data_wait = 0.12;
  limited.slowest_rank = 2;
  CHECK(format_line(limited) ==
        "iter 100/1000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  limit sample 100 %, wait 12.0 %  slowest rank 2"
        "  eta 12s");
  CHECK(format_line({.iter = 7}) == "iter 7");
  CHECK(format_line({.iter = 7, .loss = NAN, .samples_per_s = 3.25}) == "iter 7  loss nan  3.2 samples/s");
  CHECK(format_line({.iter = 7, .samples_per_s = INFINITY}) == "iter 7  ? samples/s");
}

TEST_CASE("a line says when the process gets too little of the CPU") {
  Progress short_of_cpu = some;
  short_of_cpu.cpu_share = 0.452;
  CHECK(format_line(short_of_cpu).find("  got 45 % of the CPU time it asked for  ") != std::string::npos);
  CHECK(format_bar(short_of_cpu, 200).find("  cpu 45 %  ") != std::string::npos);
}

TEST_CASE("the bar drops what matters least where there is little room") {
  CHECK(format_bar(some, 120) ==
        " 10% [==>                       ]   100/1,000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  data wait 0.4 %"
        "  eta 12s");
  CHECK(format_bar(some, 80) == " 10%   100/1,000  loss 0.4312  2,310 samples/s  data wait 0.4 %  eta 12s");
  CHECK(format_bar(some, 60) == " 10%   100/1,000  loss 0.4312  2,310 samples/s  eta 12s");
  CHECK(format_bar(some, 40) == " 10%   100/1,000  loss 0.4312  eta 12s");
  CHECK(format_bar(some, 24) == " 10%   100/1,000");
  CHECK(format_bar(some, 8) == " 10%   ");
  CHECK(format_bar(some, 0) == "");
  Progress whole = some;
  whole.limit = "sample";
  whole.limit_share = 0.97;
  whole.data_wait = 0.12;
  whole.queue_fill = 0.25;
  whole.slowest_rank = 1;
  CHECK(
      format_bar(whole, 160) ==
      " 10% [===>                          ]   100/1,000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  limit sample "
      "97 %  slowest rank 1  eta 12s  queue 25 % full");
  CHECK(format_bar(whole, 80) == " 10%   100/1,000  loss 0.4312  2,310 samples/s  limit sample 97 %  eta 12s");
  for (int columns = 0; columns < 200; ++columns) CHECK(format_bar(some, columns).size() <= std::max(0, columns - 1));
}

TEST_CASE("the bar at its ends") {
  CHECK(format_bar({.iter = 0, .max_iter = 10}, 40) == "  0% [>                         ]  0/10");
  CHECK(format_bar({.iter = 10, .max_iter = 10}, 30) == "100% [================] 10/10");
  CHECK(format_bar({.iter = 11, .max_iter = 10}, 30) == "100% [================] 11/10");
  CHECK(format_bar({.iter = 999, .max_iter = 1000}, 20) == " 99%   999/1,000");
  CHECK(format_bar({.iter = 1234}, 40) == "iter 1,234");
}

TEST_CASE("modes by name") {
  CHECK(progress_mode("auto") == ProgressMode::automatic);
  CHECK(progress_mode("off") == ProgressMode::off);
  try {
    progress_mode("fancy");
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(std::string(error.what()) == "progress cannot be shown as 'fancy'");
    CHECK(error.hint() == "known: auto, bar, plain, off");
  }
}

TEST_CASE("on a terminal: a bar below the log lines, at most ten times a second, one line in the end" *
          doctest::test_suite("full")) {
  auto start = std::chrono::steady_clock::now();
  auto result = run_child(40, [] {
    ProgressDisplay display(ProgressMode::automatic);
    for (std::uint64_t i = 1; i <= 10000; ++i) display.update({.iter = i, .max_iter = 10000, .loss = 0.5});
    log_info("a line");
    log_warn("a warning");
    display.report({.iter = 3});
    display.finish();
    display.finish();
    log_info("after");
    return 0;
  });
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(result.exit_code == 0);
  auto begins = result.output.substr(0, result.output.find("a line"));
  CHECK(begins.starts_with("\r  0%      1/10,000  loss 0.5000\033[J\r"));
  CHECK(count(begins, "\033[J\r") <= 10 * elapsed.count() + 1);
  // The bar is erased, the line printed, the bar drawn again. (The terminal turns \n into \r\n.)
  CHECK(result.output.find("\r\033[Ja line\r\n") != std::string::npos);
  CHECK(result.output.find("\r\033[J\033[1;33mwarning:\033[0m a warning\r\n  0%") != std::string::npos);
  CHECK(result.output.find("iter 3") == std::string::npos);
  CHECK(result.output.ends_with("\r\033[J100% 10,000/10,000  loss 0.5000\r\nafter\r\n"));
}

TEST_CASE("elsewhere: plain lines, and nothing that moves a cursor") {
  auto show = [](ProgressMode mode, ConsoleLevel level) {
    return run_child(0,
                     [=] {
                       set_console_level(level);
                       ProgressDisplay display(mode);
                       for (std::uint64_t i = 1; i <= 20; ++i) {
                         display.update({.iter = i});
                         if (i % 10 == 0) display.report({.iter = i});
                       }
                       return 0;
                     })
        .output;
  };
  CHECK(show(ProgressMode::automatic, ConsoleLevel::normal) == "iter 10\niter 20\n");
  CHECK(show(ProgressMode::plain, ConsoleLevel::normal) == "iter 10\niter 20\n");
  CHECK(show(ProgressMode::automatic, ConsoleLevel::quiet) == "");
  CHECK(show(ProgressMode::plain, ConsoleLevel::quiet) == "");
  CHECK(show(ProgressMode::off, ConsoleLevel::normal) == "");
  CHECK(show(ProgressMode::off, ConsoleLevel::verbose) == "iter 10\niter 20\n");
}

TEST_CASE("a bar's run has its plain lines in the log file") {
  TempFolder folder;
  run_child(80, [&] {
    set_log_file(folder.path() / "train.log");
    ProgressDisplay display(ProgressMode::automatic);
    display.update({.iter = 5});
    display.report({.iter = 5});
    return 0;
  });
  CHECK(flowtrain::testing::read_text(folder.path() / "train.log").ends_with(" debug   iter 5\n"));
}

}  // namespace flowtrain::progress_test
