#include "pipeline/base/snapshot/pickle.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(pickle) {
  const auto pickle = flowtrain::parse_pickle(input, "a.pth");
  flowtrain::fuzz::require(pickle.root < pickle.values.size() && pickle.size_bytes <= input.size(), "it is in itself");
}
