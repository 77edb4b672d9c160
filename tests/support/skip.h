#pragma once
// A test case that this machine cannot run ends as skipped, with its reason, instead of passing without a check.

#include <string>
#include <string_view>

namespace flowtrain::test {

/// Prints "skipped: [need] reason" and records that the running test case was skipped: its process ends with 77, which
/// CTest reports as Skipped. `need` is one word for what is missing ("root", "shared", "gpu", "python3-torch", …);
/// .ci/run knows how to look for each of them, and fails where one is there after all.
void record_skip(std::string_view need, std::string_view reason);

/// Declared once, at namespace scope, by a program all of whose test cases need the same thing. `missing` says why it
/// is not there, or nothing.
struct ProgramNeeds {
  ProgramNeeds(std::string_view need, std::string (*missing)());
};

}  // namespace flowtrain::test

/// Leaves a TEST_CASE (or a function that returns nothing, called as its last statement) unless `condition` holds.
/// Call it before the first check: a case is run as a whole or not at all.
#define SKIP_UNLESS(condition, need, reason)        \
  do {                                              \
    if (!(condition)) {                             \
      ::flowtrain::test::record_skip(need, reason); \
      return;                                       \
    }                                               \
  } while (false)
