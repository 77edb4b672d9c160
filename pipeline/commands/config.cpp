// flowtrain config CONFIG, config import FILE.json

#include <algorithm>
#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/config/cornernet_json.h"
#include "pipeline/config/keys.h"
#include "sampling/core/settings.h"

namespace flowtrain::commands {

namespace {

int import_config(const Arguments& arguments) {
  CLI::App app("Prints, as TOML, what a configuration of CornerNet-Lite (JSON) says.", "flowtrain config import");
  std::string file;
  add_path(app, "FILE", file, "CornerNet.json, CornerNet_Squeeze.json, CornerNet_Saccade.json, or with a -suffix")
      ->required();
  if (parse(app, arguments)) std::fputs(import_cornernet_json(file).c_str(), stdout);
  return 0;
}

}  // namespace

int config(const Arguments& arguments, Interrupt&) {
  if (!arguments.empty() && arguments.front() == "import")
    return import_config({arguments.begin() + 1, arguments.end()});
  CLI::App app(
      "Prints the resolved configuration: every key, its value, and where that was written.\n"
      "`flowtrain config import FILE.json` prints a configuration of CornerNet-Lite as TOML.",
      "flowtrain config");
  ConfigFlags flags(app);
  bool keys = false;
  app.add_flag("--keys", keys, "list every key there is, with its default and help; needs no CONFIG");
  if (std::find(arguments.begin(), arguments.end(), "--keys") != arguments.end()) {
    std::fputs(describe_keys().c_str(), stdout);
    return 0;
  }
  if (!parse(app, arguments)) return 0;
  const StartOptions start = flags.start();
  std::fputs(to_toml(load_config(start.config, start.overrides)).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
