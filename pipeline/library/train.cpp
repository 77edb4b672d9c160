#include "pipeline/library/train.h"

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/library/computing.h"
#include "pipeline/library/process.h"

namespace flowtrain {

TrainOutcome train(const StartOptions& start) {
  prepare_process();
  Interrupt interrupt;
  interrupt.end_at_once();
  TrainOutcome outcome;
  TrainRequest request{start, {}};
  request.launch = find_place({}, process_environment(), 0);
  request.on_start = [&outcome](const std::filesystem::path& folder) { outcome.folder = folder; };
  outcome.exit_code = computing_parts().train(request, interrupt);
  return outcome;
}

}  // namespace flowtrain
