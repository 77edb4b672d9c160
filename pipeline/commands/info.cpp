// flowtrain info

#include <cstdio>

#include "pipeline/commands/computing/door.h"
#include "pipeline/commands/flags.h"
#include "pipeline/telemetry/environment.h"
#include "stages/device.h"

namespace flowtrain::commands {

namespace {

std::string cuda_status() {
  try {
    return make_cuda_device(0, 1)->name();
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace

int info(const Arguments& arguments) {
  CLI::App app("Prints versions, machine and devices as JSON: what every run's env.json holds.", "flowtrain info");
  if (!parse(app, arguments)) return 0;
  std::puts(environment_json({{"torch", computing_parts().torch_version()}, {"cuda", cuda_status()}}).c_str());
  return 0;
}

}  // namespace flowtrain::commands
