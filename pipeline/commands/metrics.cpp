// flowtrain metrics RUN

#include <cstdio>

#include "pipeline/base/telemetry/metrics_table.h"
#include "pipeline/commands/flags.h"

namespace flowtrain::commands {

int metrics(const Arguments& arguments, Interrupt&) {
  CLI::App app("Prints what a run measured as CSV: a row for each event, a column for each metric.",
               "flowtrain metrics");
  std::string run, kind = "train";
  add_path(app, "RUN", run, "folder of the run, e.g. runs/quickstart")->required();
  app.add_option("--kind", kind, "select the events: train, epoch, val, snapshot …")->capture_default_str();
  if (!parse(app, arguments)) return 0;
  write_metrics_csv(std::filesystem::path(run) / "metrics.jsonl", kind,
                    [](const std::string& line) { std::fwrite(line.data(), 1, line.size(), stdout); });
  return 0;
}

}  // namespace flowtrain::commands
