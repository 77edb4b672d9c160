// The main() of every test program: doctest's, and two things that it lacks: test cases that end as skipped, and a list
// of the test cases in CTest's language.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/running_case.h"
#include "tests/support/skip.h"

namespace flowtrain::test {
namespace {

constexpr int skipped_mark = 77;  // the value of automake's and CTest's test programs

struct Run {
  std::string running;
  std::set<std::string> started, skipped;
  std::string_view need;
  std::string (*missing)() = nullptr;
};

Run& run() {
  static Run one;
  return one;
}

/// Remembers which test cases have started.
struct Watcher : doctest::IReporter {
  explicit Watcher(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData& test) override {
    run().running = test.m_name;
    run().started.insert(run().running);
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { run().running.clear(); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("watcher", 1, Watcher);

}  // namespace

std::string_view running_case() { return run().running; }

std::string filter_of(std::string_view name) {
  std::string filter;
  for (const char letter : name) {
    if (letter == ',' || letter == '\\') filter += '\\';
    filter += letter;
  }
  return filter;
}

void record_skip(std::string_view need, std::string_view reason) {
  std::printf("skipped: [%.*s] %.*s\n", static_cast<int>(need.size()), need.data(), static_cast<int>(reason.size()),
              reason.data());
  std::fflush(stdout);
  run().skipped.insert(run().running);
}

ProgramNeeds::ProgramNeeds(std::string_view need, std::string (*missing)()) {
  run().need = need;
  run().missing = missing;
}

namespace {

/// Whether the program's need is not met, which is then recorded.
bool lacks_its_need() {
  const std::string why = run().missing ? run().missing() : "";
  if (!why.empty()) record_skip(run().need, why);
  return !why.empty();
}

/// Whether the build asks for the list of test cases (ctest_list.cpp), which needs nothing.
bool is_listed() { return std::getenv("FLOWTRAIN_CTEST_GROUP") != nullptr; }

}  // namespace
}  // namespace flowtrain::test

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (!flowtrain::test::is_listed() && flowtrain::test::lacks_its_need()) return flowtrain::test::skipped_mark;
  const int status = context.run();
  const auto& run = flowtrain::test::run();
  const bool nothing_ran = !run.skipped.empty() && run.skipped == run.started;
  return status == 0 && nothing_ran ? flowtrain::test::skipped_mark : status;
}
