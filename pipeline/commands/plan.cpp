// flowtrain plan CONFIG

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/plan/plan.h"

namespace flowtrain::commands {

int plan(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Prints what a training run will do: steps and epochs, memory, snapshots, and how the learning rate moves.\n"
      "Needs no GPU: the net sees two samples, on the CPU.\n"
      "Without net.name the data are described, and without run.max_iter or run.max_epochs one epoch.",
      "flowtrain plan");
  ConfigFlags flags(app);
  if (!parse(app, arguments)) return 0;
  StartOptions start = flags.start();
  start.overrides.push_back({"run.device", "cpu", "flowtrain plan"});
  const Config config = load_for_use(start);
  std::fputs(plan_run(config, computing_parts().make_learner).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
