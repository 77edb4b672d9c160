#include "tests/support/fault_points.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "tests/support/paths.h"
#include "tests/support/running_case.h"

namespace flowtrain {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

FaultPoints::FaultPoints(std::string what) : what_(std::move(what)) {
  std::ifstream table(test::source_path("tests/fault_points.txt"));
  bool known = false;
  for (std::string name; !known && table >> least_ >> stride_ && std::getline(table >> std::ws, name);)
    known = name == what_;
  REQUIRE_MESSAGE(known, "tests/fault_points.txt has no line for: " << what_);
  if (all()) stride_ = 1;
  if (const std::string only = environment("FLOWTRAIN_POINT"); !only.empty()) only_ = std::stoull(only);
}

bool FaultPoints::all() { return environment("FLOWTRAIN_POINTS") == "all"; }

FaultPoints::Range FaultPoints::each(std::uint64_t last) const {
  if (only_) return {only_, std::min(only_, last), 1};
  return {1, last, stride_};
}

std::string FaultPoints::repeat(const std::string& point) {
  return "repeat it: FLOWTRAIN_POINT=" + point + " " + std::filesystem::read_symlink("/proc/self/exe").string() +
         " --test-case='" + test::filter_of(test::running_case()) + "'";
}

void FaultPoints::finish() const {
  MESSAGE(what_ << ": " << tried_ << " points");
  if (only_) return;
  CHECK_MESSAGE(tried_ >= least(),
                what_ << ": only " << tried_ << " points, not " << least() << " (tests/fault_points.txt)");
}

std::uint64_t times() {
  const std::string requested = environment("FLOWTRAIN_TIMES");
  return requested.empty() ? 1 : std::stoull(requested);
}

}  // namespace flowtrain
