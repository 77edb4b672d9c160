#include <algorithm>

#include "pipeline/runs/postmortem/report.h"
#include "tests/fuzz/support/fuzz_target.h"

// Files are of one size, so what comes is the beginning of one: seeds are small, and what ends early is read as zeros.
FUZZ_TARGET(flight) {
  std::vector<std::byte> whole(sizeof(flowtrain::flight::File<std::uint64_t>));
  std::copy_n(input.begin(), std::min(input.size(), whole.size()), whole.begin());
  const std::vector logs{flowtrain::parse_flight(whole, {}, "rank-0.bin")};
  flowtrain::postmortem_text(logs, 5);
  flowtrain::postmortem_json(logs, 5);
}
