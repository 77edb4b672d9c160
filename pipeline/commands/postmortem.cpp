// flowtrain postmortem RUN

#include <cstdio>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/commands/flags.h"
#include "pipeline/runs/postmortem/report.h"

namespace flowtrain::commands {

int postmortem(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Shows what each process of a run did in its last seconds, and which one stopped first. Works after kill -9, "
      "and while the run continues.",
      "flowtrain postmortem");
  std::string run;
  double seconds_s = 5;
  bool former = false, as_json = false;
  add_path(app, "RUN", run, "folder of the run, e.g. runs/quickstart")->required();
  app.add_option("--seconds", seconds_s, "show so many seconds")->check(above_zero())->capture_default_str();
  app.add_flag("--former", former, "show the start before the last one, after a resume or a restart");
  app.add_flag("--json", as_json, "print JSON with each record");
  if (!parse(app, arguments)) return 0;
  const auto [logs, unreadable] = read_flights(run, former);
  for (auto& why : unreadable) log_warn(why);
  std::fputs((as_json ? postmortem_json(logs, seconds_s) : postmortem_text(logs, seconds_s)).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
