#pragma once
// Checks the messages with which the program refuses something.

#include <doctest/doctest.h>

#include "tests/support/program.h"

namespace flowtrain {

inline void check_refused(const Outcome& outcome, int code, const Words& texts) {
  CHECK_EXIT(outcome, code);
  for (auto& text : texts) CHECK_SAYS(outcome, text);
  CHECK_MESSAGE(outcome.err.find("internal error") == std::string::npos, outcome);
}

}  // namespace flowtrain
