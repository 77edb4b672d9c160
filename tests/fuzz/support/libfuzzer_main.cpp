// The entry points that libFuzzer calls, for the one target that is linked.

#include <cstdint>

#include "tests/fuzz/support/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flowtrain::fuzz;
  feed(targets().front(), std::as_bytes(std::span(data, size)));
  return 0;
}
