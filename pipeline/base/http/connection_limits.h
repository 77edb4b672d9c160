#pragma once
// How long a client may take.

#include <chrono>

namespace flowtrain::http {

/// Limits of a connection. Each one serves a single request.
struct ConnectionLimits {
  std::chrono::milliseconds head{5'000};     ///< from the connection to the end of the head, however many bytes came
  std::chrono::milliseconds answer{30'000};  ///< to write an answer
  std::chrono::milliseconds rest{500};       ///< to read what a client still sends, so that it gets the answer
};

}  // namespace flowtrain::http
