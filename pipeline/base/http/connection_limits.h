#pragma once
// Time limits for a client.

#include <chrono>

namespace flowtrain::http {

/// Limits of a connection. Each one serves a single request.
struct ConnectionLimits {
  std::chrono::milliseconds head{5'000};  ///< time from the connection to the end of the head, however many bytes came
  std::chrono::milliseconds answer{30'000};  ///< time to write an answer
  std::chrono::milliseconds rest{500};       ///< time to read further bytes of a client, so that it gets the answer
};

}  // namespace flowtrain::http
