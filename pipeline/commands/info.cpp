// flowtrain info

#include <cstdio>

#include "pipeline/base/telemetry/environment.h"
#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/plan/plan.h"
#include "sampling/core/error.h"
#include "stages/device/device.h"
#include "stages/device/gpu_facts.h"

namespace flowtrain::commands {

namespace {

// Loads LibTorch's CUDA libraries, too, so that their versions can be read.
std::string cuda_status() {
  try {
    return make_cuda_device(0, 1)->name();
  } catch (const UserError& error) {
    return error.what();
  }
}

int summarise(const Arguments& arguments) {
  CLI::App app(
      "Prints the net of a configuration: its layers with the shapes of their outputs for a batch, and its parameters\n"
      "with their optimizers.",
      "flowtrain info");
  ConfigFlags flags(app);
  if (!parse(app, arguments)) return 0;
  StartOptions start = flags.start();
  start.overrides.push_back({"run.device", "cpu", "flowtrain info"});
  std::fputs(summarise_net(load_for_use(start), computing_parts().make_learner).c_str(), stdout);
  return 0;
}

}  // namespace

int info(const Arguments& arguments, Interrupt&) {
  if (!arguments.empty() && !arguments.front().starts_with("-")) return summarise(arguments);
  CLI::App app(
      "Prints versions, machine and devices as JSON, as in every run's env.json.\n"
      "`flowtrain info CONFIG` prints the net of a configuration, layer by layer and parameter by parameter.",
      "flowtrain info");
  if (!parse(app, arguments)) return 0;
  const Facts facts{{"torch", computing_parts().torch_version()},
                    {"torch_folder", computing_parts().torch_folder()},
                    {"cuda_status", cuda_status()}};
  std::puts(environment_json(gpu_facts(), facts).c_str());
  return 0;
}

}  // namespace flowtrain::commands
