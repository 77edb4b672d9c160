#include "pipeline/commands/flags.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "pipeline/base/launch/gpus.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/commands/propose.h"
#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/device/device.h"

namespace flowtrain::commands {

namespace {

// Refuses an unknown subcommand by name; CLI11's message does not name the word.
void refuse_unknown_subcommand(const CLI::App& app, const Arguments& arguments) {
  if (app.get_require_subcommand_min() == 0 || arguments.empty() || arguments.front().starts_with("-")) return;
  const std::string& word = arguments.front();
  std::vector<std::string> known;
  for (auto* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == word) return;
    if (!each->get_group().empty()) known.push_back(each->get_name());
  }
  const std::string near = nearest(word, known);
  throw UserError(ExitCode::usage,
                  concat("there is no `", app.get_name(), " ", word, "`",
                         near.empty() ? concat(", but ", join(known)) : concat("; did you mean '", near, "'?")),
                  app.get_name() + " --help lists the subcommands");
}

// Refuses the first unknown word and suggests a near one. CLI11 asks for missing words first, and suggests none.
void refuse_unknown_words(const CLI::App& app) {
  const Arguments left = app.remaining(true);
  if (left.empty()) return;
  const auto option = std::ranges::find_if(left, [](auto& word) { return word.size() > 1 && word.starts_with("-"); });
  const std::string hint = app.get_name() + " --help lists the arguments";
  if (option == left.end()) throw UserError(ExitCode::usage, concat("unexpected argument '", left.front(), "'"), hint);
  std::vector<std::string> known;
  const auto add = [&](const CLI::App& each) {
    for (auto* known_option : each.get_options())
      for (auto& name : known_option->get_lnames()) known.push_back("--" + name);
  };
  add(app);
  for (auto* chosen : app.get_subcommands()) add(*chosen);
  const std::string near = nearest(option->substr(0, option->find('=')), known);
  throw UserError(
      ExitCode::usage,
      concat("there is no option '", *option, "'", near.empty() ? "" : concat("; did you mean '", near, "'?")), hint);
}

// `first`: the first word, which may name a subcommand.
void propose_words(const CLI::App& app, const std::string& first, const std::string& begin) {
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto chosen = std::ranges::find_if(all, [&](auto* each) { return each->get_name() == first; });
  if (begin.starts_with("-")) {
    for (const auto* option : (chosen == all.end() ? app : **chosen).get_options())
      for (auto& name : option->get_lnames()) propose("--" + name, option->get_description(), begin);
  } else if (chosen == all.end()) {
    for (const auto* each : all)
      if (!each->get_group().empty()) propose(each->get_name(), each->get_description(), begin);
  }
}

}  // namespace

void propose(const std::string& word, const std::string& help, const std::string& begin) {
  if (word.starts_with(begin)) std::printf("%s\t%s\n", word.c_str(), help.substr(0, help.find('\n')).c_str());
}

bool parse(CLI::App& app, const Arguments& arguments) {
  if (!arguments.empty() && arguments.back().starts_with(completion_mark)) {
    propose_words(app, arguments.front(), arguments.back().substr(completion_mark.size()));
    return false;
  }
  refuse_unknown_subcommand(app, arguments);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 takes the last argument first
    return true;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_unknown_words(app);
    throw UserError(ExitCode::usage, error.what(), app.get_name() + " --help lists the arguments");
  }
}

namespace {

// Checks that a number is positive. CLI::PositiveNumber would print its bounds with 300 digits each.
CLI::Validator positive(const std::string& text, const std::string& refusal) {
  return {[refusal](std::string& given) {
            double number = 0;
            return CLI::detail::lexical_cast(given, number) && number > 0 ? std::string() : given + ": " + refusal;
          },
          text};
}

}  // namespace

CLI::Validator above_zero() { return positive("> 0", "must be above 0"); }
CLI::Validator counts_from_one(const std::string& what) { return positive("from 1", what + " count from 1"); }

CLI::Validator within(double least, double most) {
  CLI::Validator range = CLI::Range(least, most);
  range.operation([least, most](std::string& given) {
    double number = 0;
    const bool fits = CLI::detail::lexical_cast(given, number) && number >= least && number <= most;  // NaN does not
    return fits ? std::string() : concat(given, " is no number from ", least, " to ", most);
  });
  return range;
}

namespace {

// Sets which GPUs CUDA sees. It must run before the driver is first used, since that reads the variables once. CUDA is
// to count GPUs in the order of the PCI bus, as NVML does.
void select_gpus(const std::string& requested) {
  const auto chosen = choose_gpus(requested, process_environment());
  if (!chosen) return;
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", chosen->c_str(), 1);
  const auto asked = std::count(chosen->begin(), chosen->end(), ',') + 1;
  if (const int answer = count_gpus(); answer != asked)
    throw UserError(
        ExitCode::usage,
        concat("--gpus ", requested,
               answer == 0 ? std::string(": no GPU responds") : concat(": only ", answer, " of ", asked, " respond")),
        "nvidia-smi lists the GPUs of this machine; `flowtrain info` says whether this build can use them");
}

}  // namespace

ConfigFlags::ConfigFlags(CLI::App& app, bool required) {
  add_path(app, "CONFIG", config_, "configuration file (TOML), or the folder of a run")->required(required);
  app.add_option("--set", set_, "change a key of the configuration: KEY=VALUE, e.g. loader.batch=32; repeatable")
      ->allow_extra_args(false);
  app.add_option("--max-iter", max_iter_, "set the iterations to train: run.max_iter");
  app.add_option("--seed", seed_, "set the seed: run.seed");
  app.add_option("--workers", workers_, "set the threads that make samples: loader.workers");
  app.add_option("--device", device_, "set run.device: auto, cpu, cuda or cuda:N");
  app.add_option("--gpus", gpus_, "use these GPUs of this machine: 0,2, or idle:N for N idle ones");
  app.add_option("--progress", progress_, "set display.progress: auto, bar, plain or off");
  auto* quiet = app.add_flag("--quiet", quiet_, "show only warnings and errors");
  app.add_flag("--verbose", verbose_, "show details that help to find faults, too")->excludes(quiet);
}

StartOptions ConfigFlags::start() const {
  set_console_level(quiet_ ? ConsoleLevel::quiet : verbose_ ? ConsoleLevel::verbose : ConsoleLevel::normal);
  if (!gpus_.empty()) select_gpus(gpus_);
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
