#include "pipeline/commands/flags.h"

#include <cstdio>

#include "pipeline/telemetry/log.h"

namespace flowtrain::commands {

bool parse(CLI::App& app, const Arguments& arguments) {
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes them last first
    return true;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UserError(Exit::usage, error.what(), app.get_name() + " --help lists the arguments");
  }
}

ConfigFlags::ConfigFlags(CLI::App& app) {
  app.add_option("CONFIG", config_, "configuration file (TOML), or the folder of a run")->required();
  app.add_option("--set", set_, "KEY=VALUE: change a key of the configuration, e.g. loader.batch=32; repeatable")
      ->allow_extra_args(false);
  app.add_option("--max-iter", max_iter_, "iterations to train: run.max_iter");
  app.add_option("--seed", seed_, "run.seed");
  app.add_option("--workers", workers_, "loader.workers");
  app.add_option("--device", device_, "auto, cpu, cuda or cuda:N: run.device");
  app.add_option("--progress", progress_, "auto, bar, plain or off: display.progress");
  auto* quiet = app.add_flag("--quiet", quiet_, "only warnings and errors");
  app.add_flag("--verbose", verbose_, "also what matters only when something goes wrong")->excludes(quiet);
}

StartOptions ConfigFlags::start() const {
  set_console_level(quiet_ ? ConsoleLevel::quiet : verbose_ ? ConsoleLevel::verbose : ConsoleLevel::normal);
  StartOptions options;
  options.config = config_;
  for (auto& each : set_) options.overrides.push_back(parse_set(each));
  struct Flag {
    const char* key;
    const std::string& value;
    const char* name;
  };
  for (auto& flag : {Flag{"run.max_iter", max_iter_, "--max-iter"}, Flag{"run.seed", seed_, "--seed"},
                     Flag{"loader.workers", workers_, "--workers"}, Flag{"run.device", device_, "--device"},
                     Flag{"display.progress", progress_, "--progress"}})
    if (!flag.value.empty()) options.overrides.push_back({flag.key, flag.value, flag.name});
  return options;
}

}  // namespace flowtrain::commands
