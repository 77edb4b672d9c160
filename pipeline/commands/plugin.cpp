// flowtrain plugin new|check

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/tools/plugin_kit/check_run.h"
#include "pipeline/tools/plugin_kit/new_plugin.h"

namespace flowtrain::commands {
namespace {

using namespace plugin_kit;

void add_new(CLI::App& app, NewPlugin& plugin) {
  auto* command = app.add_subcommand(
      "new",
      "Writes the folder NAME with a plugin that works: its source, a CMakeLists.txt, a test and a README.md.\n"
      "Existing files are not overwritten.");
  command->add_option("NAME", plugin.name, "name of the folder and the sampler: small letters, digits and _")
      ->required();
  command->add_option("--language", plugin.language, "choose c or cpp")->check(CLI::IsMember({"c", "cpp"}));
}

void add_check(CLI::App& app, CheckOptions& options) {
  auto* command = app.add_subcommand(
      "check",
      "Checks the samplers, data sets and orders of a plugin: interface, bounds of memory, same bytes for the same\n"
      "seed, threads, damaged records, leaks and more. Each check runs in a process of its own and prints pass or\n"
      "FAIL, with the reason. Without FILE, it checks built-in samplers. It uses the [data] of CONFIG, or small trial\n"
      "data without one.\n"
      "exit codes: 0 all checks passed, 2 wrong command line, 3 a check failed");
  auto* file = add_path(*command, "FILE", options.plugin, "a plugin (.so)");
  add_path(*command, "CONFIG", options.config, "a configuration with [data], and with the keys of the part");
  command->add_option("--builtin", options.builtin, "check a built-in sampler, or all")->excludes(file);
  add_path(*command, "--config", options.config, "use this CONFIG for built-in samplers");
  command->add_option("--set", options.set, "change a key: KEY=VALUE, e.g. sampler.size=64; repeatable")
      ->allow_extra_args(false);
  command->add_option("--timeout", options.timeout_s, "end a check that takes more than this many seconds")
      ->check(above_zero())
      ->capture_default_str();
}

/// Adds the hidden command with which `check` starts a process for each check.
void add_run_check(CLI::App& app, CheckCall& call, int& report) {
  auto* command = app.add_subcommand("run-check", "Runs one check in this process.")->group("");
  command->add_option("--check", call.check)->required();
  command->add_option("--plugin", call.subject.plugin);
  command->add_option("--config", call.subject.config);
  command->add_option("--kind", call.subject.part.kind);
  command->add_option("--part", call.subject.part.name);
  command->add_option("--trial-data", call.subject.trial_data);
  command->add_option("--set", call.subject.set)->allow_extra_args(false);
  command->add_option("--run", call.run);
  command->add_option("--report", report)->required();
}

}  // namespace

int plugin(const Arguments& arguments, Interrupt&) {
  CLI::App app("Writes a new plugin (new), or checks one (check).", "flowtrain plugin");
  app.require_subcommand(1);
  NewPlugin made;
  CheckOptions options;
  CheckCall call;
  int report = -1;
  add_new(app, made);
  add_check(app, options);
  add_run_check(app, call, report);
  if (!parse(app, arguments)) return 0;
  if (app.got_subcommand("new")) std::fputs(write_new_plugin(made).c_str(), stdout);
  if (app.got_subcommand("check")) return static_cast<int>(run_checks(options));
  if (app.got_subcommand("run-check")) run_check(call, report);
  return 0;
}

}  // namespace flowtrain::commands
