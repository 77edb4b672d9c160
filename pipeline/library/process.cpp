#include "pipeline/library/process.h"

#include <string>

#include "pipeline/commands/computing/api.h"
#include "pipeline/config/plugins.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/warning.h"
#include "stages/system/file_limit.h"

namespace flowtrain {

void prepare_process() {
  raise_file_limit();
  if (!warning_sink) set_warning_sink([](const std::string& text) { log_warn(text); });
  set_torch_loader([] { commands::computing_parts(); });
}

}  // namespace flowtrain
