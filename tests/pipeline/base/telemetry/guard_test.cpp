#include "pipeline/base/telemetry/guard.h"

#include <doctest/doctest.h>

#include <new>
#include <regex>
#include <stdexcept>
#include <thread>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/telemetry/progress.h"
#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"
#include "tests/support/child.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

// LibTorch's names of what its watchdogs throw.
namespace c10 {
struct DistBackendError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct DistError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace c10

namespace flowtrain::guard_test {

using namespace flowtrain::testing;

namespace {

ChildResult guarded(const std::function<int()>& body, int columns = 0) {
  return run_child(columns, [&] { return guarded_main(body); });
}

// "internal error: MESSAGE", stack lines, and the request to report.
bool is_fault(const std::string& text, const std::string& message) {
  return std::regex_match(
      text, std::regex("internal error: " + message + "\n([^\n]*\\[0x[0-9a-f]+\\]\n){3,}" +
                       "This is a bug in flowtrain: please report it with the lines above\\. " + "flowtrain [^\n]*\n"));
}

}  // namespace

TEST_CASE("a program that ends well") {
  auto result = guarded([] { return 7; });
  CHECK(result.exit_code == 7);
  CHECK(result.output == "");
}

TEST_CASE("a user's error is a message, a hint, and its exit code") {
  auto result = guarded([]() -> int { throw UserError(ExitCode::data, "no folder x", "make it"); });
  CHECK(result.exit_code == 3);
  CHECK(result.output == "error: no folder x\n  hint: make it\n");
  result = guarded([]() -> int { throw UserError(ExitCode::numerics, "loss is nan"); });
  CHECK(result.exit_code == 5);
  CHECK(result.output == "error: loss is nan\n");
}

TEST_CASE("a user's error below a bar, and in the log file") {
  TempFolder folder;
  auto result = guarded(
      [&]() -> int {
        set_log_file(folder.path() / "train.log");
        ProgressDisplay display(ProgressMode::bar);
        display.update({.iter = 5});
        throw UserError(ExitCode::data, "no folder x", "make it");
      },
      40);
  CHECK(result.exit_code == 3);
  CHECK(result.output.ends_with("\r\033[Jiter 5\r\n\033[1;31merror:\033[0m no folder x\r\n  hint: make it\r\n"));
  CHECK(read_text(folder.path() / "train.log").ends_with(" error   no folder x\n  hint: make it\n"));
}

TEST_CASE("where memory has run out the user is told what takes less, and no fault is reported") {
  const std::string hint = std::string("\n  hint: ") + out_of_memory_hint + "\n";
  TempFolder folder;
  auto result = guarded([&]() -> int {
    set_log_file(folder.path() / "train.log");
    throw std::bad_alloc();
  });
  CHECK(result.exit_code == 2);
  CHECK(result.output == "error: out of memory" + hint);
  CHECK(read_text(folder.path() / "train.log").ends_with(" error   out of memory" + hint));
  const std::string host = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory",
                    device = "CUDA out of memory. Tried to allocate 2.00 GiB";
  for (auto& text : {host, device}) {
    result = guarded([&]() -> int { throw std::runtime_error(text + "\nframe #0: a\nframe #1: b"); });
    CHECK(result.exit_code == 2);
    CHECK(result.output == "error: out of memory: " + text + hint);
  }
  result = guarded([]() -> int {
    std::thread([] { throw std::bad_alloc(); }).join();
    return 0;
  });
  CHECK(result.exit_code == 2);
  CHECK(result.output == "error: out of memory" + hint);
}

TEST_CASE("a fault of ours has a stack, exit 70, and a place in the log file") {
  TempFolder folder;
  auto result = guarded([&]() -> int {
    set_log_file(folder.path() / "train.log");
    throw InternalError("slab 3 freed twice");
  });
  CHECK(result.exit_code == 70);
  CHECK(is_fault(result.output, "slab 3 freed twice"));
  CHECK(is_fault(read_text(folder.path() / "train.log"), "slab 3 freed twice"));
}

TEST_CASE("so has everything else that is thrown") {
  auto result = guarded([]() -> int { throw std::runtime_error("oops"); });
  CHECK(result.exit_code == 70);
  CHECK(is_fault(result.output, "oops \\(std::runtime_error\\)"));
  result = guarded([]() -> int { throw 3; });
  CHECK(result.exit_code == 70);
  CHECK(is_fault(result.output, "an exception of type int"));
  result = guarded([]() -> int { std::terminate(); });
  CHECK(result.exit_code == 70);
  CHECK(is_fault(result.output, "terminated without an exception"));
}

TEST_CASE("what escapes from other threads") {
  auto result = guarded([] {
    std::thread([] { throw InternalError("in a thread"); }).join();
    return 0;
  });
  CHECK(result.exit_code == 70);
  CHECK(is_fault(result.output, "in a thread"));
  result = guarded([] {
    std::thread([] { throw UserError(ExitCode::snapshot, "disk full", "make room"); }).join();
    return 0;
  });
  CHECK(result.exit_code == 4);
  CHECK(result.output == "error: disk full\n  hint: make room\n");
}

TEST_CASE("the loss of other processes, thrown by a watchdog in a thread of its own, is exit 6 and one line") {
  TempFolder folder;
  const auto thrown = [&](const auto& loss) {
    return guarded([&] {
      set_log_file(folder.path() / "train.log");
      std::thread([&] { throw loss; }).detach();
      for (;;) ::pause();
      return 0;
    });
  };
  auto result = thrown(c10::DistBackendError("NCCL communicator was aborted on rank 1.\nException raised from …"));
  CHECK(result.exit_code == 6);
  CHECK(result.output == "error: lost the other processes: NCCL communicator was aborted on rank 1.\n");
  CHECK(read_text(folder.path() / "train.log").ends_with(result.output));
  CHECK(thrown(c10::DistError("timeout")).exit_code == 6);
  CHECK(thrown(std::runtime_error("DistError")).exit_code == 70);
}

TEST_CASE("who watches over a job has time to say who was lost, before a watchdog's error ends the process" *
          doctest::test_suite("full")) {
  const auto result = guarded([] {
    give_losses_time(std::chrono::hours(1));
    std::thread watchdog([] { throw c10::DistBackendError("NCCL communicator was aborted on rank 1."); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::fputs("rank 1 was killed\n", stderr);
    ::_exit(6);
    return 0;
  });
  CHECK(result.exit_code == 6);
  CHECK(result.output == "rank 1 was killed\n");
}

}  // namespace flowtrain::guard_test
