#include "pipeline/base/telemetry/json_lines.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(journal) {
  const auto path = flowtrain::fuzz::as_file(input, "metrics.jsonl");
  flowtrain::cut_back(path, 100);
  flowtrain::fuzz::require(flowtrain::cut_back(path, 100) == 0, "what was cut back needs no cut");
}
