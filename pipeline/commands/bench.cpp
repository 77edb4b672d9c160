// flowtrain bench CONFIG

#include <cstdio>

#include "pipeline/bench.h"
#include "pipeline/commands/flags.h"
#include "pipeline/snapshot/atomic_folder.h"

namespace flowtrain::commands {

int bench(const Arguments& arguments) {
  CLI::App app("Measures each data stage alone (order, read, sample) and then the whole line, without a net.", "flowtrain bench");
  ConfigFlags flags(app);
  BenchOptions options;
  std::string json;
  app.add_option("--stage", options.stages, "order, read, sample or pipeline; repeatable; default: all")->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "time for each of them")->check(CLI::Range(0.01, 3600.0));
  app.add_option("--json", json, "also write the figures to this file");
  if (!parse(app, arguments)) return 0;
  const BenchReport report = run_bench(load_for_use(flags.start()), options);
  std::fputs(to_table(report).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(report));
  return 0;
}

}  // namespace flowtrain::commands
