// flowtrain hooks CONFIG

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/plan/plan.h"

namespace flowtrain::commands {

int hooks(const Arguments& arguments, Interrupt&) {
  CLI::App app("Prints at which points the hooks of a configuration ([[hook]]) are called, and in which order.",
               "flowtrain hooks");
  ConfigFlags flags(app);
  if (!parse(app, arguments)) return 0;
  StartOptions start = flags.start();
  start.overrides.push_back({"run.device", "cpu", "flowtrain hooks"});
  const Config config = load_for_use(start);
  config.check_trainable();
  std::fputs(list_hooks(config, computing_parts().make_learner).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
