// flowtrain bench CONFIG

#include "pipeline/tools/bench.h"

#include <cstdio>

#include "pipeline/commands/computing/api.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/session/auto_batch.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "sampling/core/error.h"

namespace flowtrain::commands {

int bench(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Measures each data stage alone (order, read, sample, and the transfer to a GPU) and then the whole loader, "
      "without\n"
      "a net.\n"
      "With --distributed: all-reduce between the processes, and the net's step with and without it.",
      "flowtrain bench");
  ConfigFlags flags(app);
  BenchOptions options;
  std::string json;
  app.add_option("--stage", options.stages, "order, read, sample, transfer or pipeline; repeatable; default: all")
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "time for each thing that is measured")->check(CLI::Range(0.01, 3600.0));
  add_path(app, "--json", json, "also write the metrics to this file");
  LaunchOptions launch;
  add_launch_flags(app, launch);
  if (!parse(app, arguments)) return 0;

  const Config config = load_for_use(flags.start());
  tell_left_open_batch(config);
  const Launch chosen = find_launch(launch, [&] { return config; });
  if (!std::holds_alternative<SingleProcess>(chosen)) {
    if (!options.stages.empty())
      throw UserError(ExitCode::usage, "--stage: several processes measure their exchange, not the data stages",
                      "leave it out, or --distributed");
    return computing_parts().bench(chosen, {config, options.seconds, json, arguments});
  }
  const auto report = run_bench(config, options);
  std::fputs(to_table(report).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(report));
  return 0;
}

}  // namespace flowtrain::commands
