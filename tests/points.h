#pragma once
// How many points a test tried. A test that places faults at every call, byte or stop tries as many as the code has; if
// there are suddenly fewer, it no longer reaches what it did, and its success says less than it seems to.

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace flowtrain {

/// Prints `count` and checks it against the line of `what` in tests/points.txt ("<count> <what>"): fewer fail the test.
/// More are welcome; raise the line then.
inline void tried(const std::string& what, std::uint64_t count) {
  std::ifstream file(FLOWTRAIN_SOURCE_DIR "/tests/points.txt");
  std::uint64_t least = 0;
  std::string name;
  bool known = false;
  while (!known && file >> least && std::getline(file >> std::ws, name)) known = name == what;
  MESSAGE(what << ": " << count << " points");
  REQUIRE_MESSAGE(known, "tests/points.txt has no line for: " << what);
  CHECK_MESSAGE(count >= least, what << ": only " << count << " points, not " << least << " (tests/points.txt)");
}

/// How many times as often as usual the tests with random points try: FLOWTRAIN_TIMES in the environment, else 1.
inline std::uint64_t times() {
  const char* wished = std::getenv("FLOWTRAIN_TIMES");
  return wished ? std::stoull(wished) : 1;
}

}  // namespace flowtrain
