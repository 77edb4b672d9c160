#pragma once
// Checks the error that a user reads when something is refused.

#include <doctest/doctest.h>

#include <string>

#include "sampling/core/error.h"

namespace flowtrain::testing {

/// Checks that `body` throws a UserError with this exit code and message, and a hint.
template <class Body>
void expect_error(ExitCode code, const std::string& message, Body body) {
  try {
    body();
    FAIL_CHECK("not refused: " << message);
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) == message);
    CHECK(error.code() == code);
    CHECK_FALSE(error.hint().empty());
  }
}

}  // namespace flowtrain::testing
