#include "pipeline/base/config/config.h"
#include "tests/fuzz/support/fuzz_target.h"

// A configuration that loads is written out as in a run's folder, and must load again to the same.
FUZZ_TARGET(config) {
  const auto config = flowtrain::load_config(flowtrain::fuzz::as_file(input, "a.toml"));
  const auto written = flowtrain::to_toml(config);
  const auto again = flowtrain::load_config(flowtrain::fuzz::as_file(std::as_bytes(std::span(written)), "b.toml"));
  flowtrain::fuzz::require(flowtrain::diff(config, again).empty(), "a written configuration says the same");
}
