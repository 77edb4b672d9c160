#pragma once
// Catches an exception of one kind, so that a test can look at its message and exit code.

#include <doctest/doctest.h>

#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// The Failure that `body` throws; fails the test if it throws none.
template <class Failure = UserError, class Body>
Failure failure_of(Body&& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure;
  }
  throw std::logic_error("nothing was thrown");
}

/// Checks a UserError's exit code and that its message contains `part`.
inline void check_failure(const UserError& failure, ExitCode code, const std::string& part) {
  CHECK(failure.code() == code);
  INFO("message: " << failure.what());
  INFO("expected in it: " << part);
  CHECK(std::string(failure.what()).find(part) != std::string::npos);
}

}  // namespace flowtrain
