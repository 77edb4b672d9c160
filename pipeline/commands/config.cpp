// flowtrain config CONFIG

#include <algorithm>
#include <cstdio>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/commands/flags.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"

namespace flowtrain::commands {

int config(const Arguments& arguments, Interrupt&) {
  CLI::App app("Prints the resolved configuration: every key, its value, and where the value was written.",
               "flowtrain config");
  ConfigFlags flags(app);
  bool keys = false, secrets = false;
  app.add_flag("--keys", keys, "list every key with its default and help; needs no CONFIG");
  app.add_flag("--secrets", secrets, "show logins, signatures and tokens, which are masked otherwise");
  if (std::find(arguments.begin(), arguments.end(), "--keys") != arguments.end()) {
    std::fputs(describe_keys().c_str(), stdout);
    return 0;
  }
  if (!parse(app, arguments)) return 0;
  const StartOptions start = flags.start();
  const auto run = as_run_folder(start.config);
  const std::string text =
      to_toml(load_config(run ? *run / "config.toml" : std::filesystem::path(start.config), start.overrides));
  std::fputs((secrets ? text : without_secrets(text)).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
