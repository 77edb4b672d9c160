#include "pipeline/base/snapshot/zip_entries.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(zip) {
  std::size_t bytes = 0;
  for (const auto& entry : flowtrain::zip_entries(input, "a.zip")) bytes += entry.data.size();
  flowtrain::fuzz::require(bytes <= input.size(), "entries do not overlap");
}
