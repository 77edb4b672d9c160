// flowtrain watch RUN

#include "pipeline/runs/watch/watch.h"

#include "pipeline/commands/flags.h"

namespace flowtrain::commands {

int watch(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Shows a run in the terminal, while it trains or afterwards: charts, progress, messages. Keys: left, right and "
      "tab choose a metric, l switches to a logarithmic y axis, x changes the x axis, z zooms, q quits. Without a "
      "terminal, it prints a line for each event until the run ends.",
      "flowtrain watch");
  watch::WatchOptions options;
  double refresh_s = 1;
  add_path(app, "RUN", options.run, "folder of the run, e.g. runs/quickstart")->required();
  app.add_option("--refresh", refresh_s, "read the run's files again after so many seconds")
      ->check(within(0.1, 3600.0))
      ->capture_default_str();
  app.add_flag("--once", options.once, "print one screen as plain text, and exit");
  if (!parse(app, arguments)) return 0;
  options.refresh = std::chrono::milliseconds(static_cast<int>(1000 * refresh_s));
  return watch::watch(options, interrupt);
}

}  // namespace flowtrain::commands
