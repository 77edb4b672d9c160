// The reporter "ctest": lists a program's test cases in CTest's language, one add_test() a case. The build calls it:
//   PROGRAM --list-test-cases --reporters=ctest --out=FILE, with FLOWTRAIN_CTEST_{GROUP,TIER,LABELS,ENVIRONMENT} set
// Words of a case's test suite say what is special about it:
//   fast, full, nightly   its tier, where it is not that of its program
//   points                places accidents (fault_points.h): a sample of them in tier full, every one in tier nightly
//   alone                 measures: nothing runs beside it
// What needs the GPU (label gpu) runs one case at a time: a machine has one, as a rule.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "tests/support/running_case.h"

namespace flowtrain::test {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// A setting that is a list: the build separates its words by '|', CMake by ';'.
std::string list_setting(const char* name) {
  std::string words = setting(name);
  std::replace(words.begin(), words.end(), '|', ';');
  return words;
}

/// A CMake bracket argument, in which nothing is special.
std::string quoted(const std::string& text) { return "[==[" + text + "]==]"; }

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  std::exit(1);
}

/// The properties that the words of a test suite stand for.
struct Traits {
  std::string tier = setting("FLOWTRAIN_CTEST_TIER");
  bool points = false, alone = false;

  Traits(const std::string& words, const std::string& name) {
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
      if (word == "fast" || word == "full" || word == "nightly")
        tier = word;
      else if (word == "points")
        points = true;
      else if (word == "alone")
        alone = true;
      else
        refuse("test suite of '" + name + "': '" + word + "' is none of fast, full, nightly, points, alone");
    }
  }
};

class CTestList : public doctest::IReporter {
 public:
  explicit CTestList(const doctest::ContextOptions& options) : out_(*options.cout) {}

  void report_query(const doctest::QueryData& query) override {
    std::map<std::string, unsigned> seen;
    for (unsigned i = 0; i < query.num_data; ++i) {
      const doctest::TestCaseData& test = *query.data[i];
      const std::string name = test.m_name;
      if (++seen[name] > 1) refuse("two test cases are named '" + name + "'; CTest could not tell them apart");
      list(name, Traits(test.m_test_suite, name));
    }
  }

  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  void list(const std::string& name, const Traits& traits) {
    if (!traits.points) return entry(name, name, traits, traits.tier, "");
    entry(name, name + " (a sample of the points)", traits, "full", "sample");
    entry(name, name + " (every point)", traits, "nightly", "FLOWTRAIN_POINTS=all");
  }

  void entry(const std::string& name, const std::string& shown, const Traits& traits, const std::string& tier,
             const std::string& points) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string test = quoted(setting("FLOWTRAIN_CTEST_GROUP") + ": " + shown);
    std::string labels = tier, environment = list_setting("FLOWTRAIN_CTEST_ENVIRONMENT");
    if (const std::string more = list_setting("FLOWTRAIN_CTEST_LABELS"); !more.empty()) labels += ";" + more;
    if (points == "sample")
      labels += ";sample";
    else if (!points.empty())
      environment += (environment.empty() ? "" : ";") + points;
    // Limits are there to end what hangs, on a busy machine and under a sanitizer, too.
    const int limit_s = tier == "nightly" ? 3600 : 900;
    out_ << "add_test(" << test << " " << quoted(program) << " " << quoted("--test-case=" + filter_of(name)) << ")\n"
         << "set_tests_properties(" << test << " PROPERTIES LABELS " << quoted(labels) << " TIMEOUT " << limit_s
         << " SKIP_RETURN_CODE 77";
    if (!environment.empty()) out_ << " ENVIRONMENT " << quoted(environment);
    if (traits.alone) out_ << " RUN_SERIAL TRUE";
    if ((";" + labels + ";").find(";gpu;") != std::string::npos) out_ << " RESOURCE_LOCK gpu";
    out_ << ")\n";
  }

  std::ostream& out_;
};
REGISTER_REPORTER("ctest", 1, CTestList);

}  // namespace
}  // namespace flowtrain::test
