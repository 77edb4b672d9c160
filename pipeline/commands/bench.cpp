// flowtrain bench CONFIG

#include "pipeline/tools/bench/bench.h"

#include <cstdio>
#include <optional>

#include "pipeline/base/config/plugins.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/bench/compare_loaders.h"
#include "pipeline/tools/bench/tune.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

struct VsOptions {
  std::vector<std::string> changes;  // key=value
  bool same = false;
  std::optional<std::uint64_t> batches;
};

/// Refuses options that a comparison or a search of whole loaders excludes.
void check_whole_loaders(const char* option, const char* does, const BenchOptions& options, const Launch& launch) {
  if (!options.stages.empty())
    throw UserError(ExitCode::usage, concat("--stage: ", option, " ", does, " whole loaders"),
                    "leave out one of the two");
  if (!std::holds_alternative<SingleProcess>(launch))
    throw UserError(ExitCode::usage, concat(option, ": it ", does, " loaders of one process"),
                    concat("leave out ", option, ", or the flags that start several processes"));
}

template <class Report>
void write_report(const Report& report, const std::string& json) {
  std::fputs(to_table(report).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(report));
}

/// Compares the loader of `start` with the one that has the changes.
int compare_loaders(const StartOptions& start, const Config& config, const VsOptions& vs, double seconds,
                    const std::string& json) {
  LoaderPair pair(config);
  StartOptions changed = start;
  // Both loaders draw the same numbers, unless a change sets the seed.
  changed.overrides.push_back({"run.seed", to_toml(*config.run().seed), "run.seed of A"});
  for (auto& change : vs.changes) {
    changed.overrides.push_back(parse_set(change));
    changed.overrides.back().origin = "--vs";
  }
  forget_plugins();
  pair.open_b(load_for_use(changed));
  if (vs.same)
    std::printf("all %llu compared samples have the same bytes\n",
                static_cast<unsigned long long>(pair.compare_batches(vs.batches)));
  const auto comparison = pair.compare_rates(seconds);
  std::fputs(to_table(comparison, join(vs.changes)).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(comparison, join(vs.changes)));
  return 0;
}

/// Searches for the best shape of the loader, and writes it to `file`.
int tune(const Config& config, const std::string& config_file, double seconds, const std::string& file,
         const std::string& json) {
  const auto report = tune_loader(config, seconds);
  write_report(report, json);
  write_file_atomically(file, to_toml(report));
  std::printf("written to %s; a config with base = [\"%s\", \"%s\"] uses it\n", file.c_str(), config_file.c_str(),
              file.c_str());
  return 0;
}

}  // namespace

int bench(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Measures each data stage alone (plan, read, sample, and the transfer to a GPU), and then the whole loader.\n"
      "No net is used.\n"
      "MB/s count records that are read, what they fill of rows (without padding), and batches that are copied.\n"
      "--tune finds the fastest number of workers, readers and batches ahead on this machine, and writes it as TOML.\n"
      "--vs measures this loader and one with other keys in turn, and prints the ratio of their rates.\n"
      "--distributed measures all-reduce between the processes, and the net's step with and without it.",
      "flowtrain bench");
  ConfigFlags flags(app);
  BenchOptions options;
  std::string json;
  app.add_option("--stage", options.stages,
                 "measure only this stage: plan, read, sample, transfer or pipeline; repeatable")
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "measure each stage for this long")->check(within(0.01, 3600.0));
  add_path(app, "--json", json, "write the metrics to this JSON file, too");
  VsOptions vs;
  auto* const changes = app.add_option("--vs", vs.changes,
                                       "compare with a loader that has this KEY=VALUE, e.g. sampler.process=true or "
                                       "run.plugins=[\"b.so\"]; repeatable")
                            ->allow_extra_args(false)
                            ->check([](const std::string& text) {
                              return text.find('=') == text.npos ? text + ": expected key=value" : std::string();
                            });
  auto* const same =
      app.add_flag("--same", vs.same,
                   "compare the bytes of both loaders first; end with code 3 at the first sample and field that differ")
          ->needs(changes);
  app.add_option("--batches", vs.batches, "compare this many batches with --same; default: one epoch")
      ->needs(same)
      ->check(counts_from_one("batches"));
  std::string tuned;
  add_path(app, "--tune", tuned, "search for the best shape of the loader, and write it to this TOML file")
      ->excludes(changes);
  LaunchOptions launch;
  add_launch_flags(app, launch);
  if (!parse(app, arguments)) return 0;

  const StartOptions start = flags.start();
  const Config config = load_for_use(start);
  tell_left_open_batch(config);
  const Launch chosen = find_launch(launch, [&] { return Config(config); });
  if (!vs.changes.empty()) {
    check_whole_loaders("--vs", "compares", options, chosen);
    return compare_loaders(start, config, vs, options.seconds, json);
  }
  if (!tuned.empty()) {
    check_whole_loaders("--tune", "measures", options, chosen);
    return tune(config, start.config, options.seconds, tuned, json);
  }
  if (!std::holds_alternative<SingleProcess>(chosen)) {
    if (!options.stages.empty())
      throw UserError(ExitCode::usage,
                      "--stage: with several processes, bench measures all-reduce, not the data stages",
                      "leave out --stage, or --distributed");
    return computing_parts().bench(chosen, {config, options.seconds, json, arguments});
  }
  write_report(run_bench(config, options), json);
  return 0;
}

}  // namespace flowtrain::commands
