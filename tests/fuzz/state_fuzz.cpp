#include "pipeline/engine/train/run_state.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(state) {
  const auto state = flowtrain::RunState::from_json({reinterpret_cast<const char*>(input.data()), input.size()});
  const auto written = state.to_json();
  flowtrain::fuzz::require(flowtrain::RunState::from_json(written).to_json() == written, "what is written reads back");
}
