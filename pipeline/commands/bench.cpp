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

/// The loader of `start` against the one with the changes.
void compare_loaders(const StartOptions& start, const Config& config, const VsOptions& vs, double seconds,
                     const std::string& json) {
  LoaderPair pair(config);
  StartOptions changed = start;
  // The same draws, unless the seed is what differs.
  changed.overrides.push_back({"run.seed", to_toml(*config.run().seed), "run.seed of A"});
  for (auto& change : vs.changes) {
    changed.overrides.push_back(parse_set(change));
    changed.overrides.back().origin = "--vs";
  }
  forget_plugins();
  pair.open_b(load_for_use(changed));
  if (vs.same)
    std::printf("the same bytes in all %llu samples that were compared\n",
                static_cast<unsigned long long>(pair.compare_batches(vs.batches)));
  const auto comparison = pair.compare_rates(seconds);
  std::fputs(to_table(comparison, join(vs.changes)).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(comparison, join(vs.changes)));
}

/// Searches for the best shape of the loader, and writes it to `file`.
void tune(const Config& config, const std::string& config_file, double seconds, const std::string& file,
          const std::string& json) {
  const auto report = tune_loader(config, seconds);
  std::fputs(to_table(report).c_str(), stdout);
  write_file_atomically(file, to_toml(report));
  std::printf("written to %s; a config with base = [\"%s\", \"%s\"] uses it\n", file.c_str(), config_file.c_str(),
              file.c_str());
  if (!json.empty()) write_file_atomically(json, to_json(report));
}

}  // namespace

int bench(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Measures each data stage alone (order, read, sample, and the transfer to a GPU) and then the whole loader, "
      "without\n"
      "a net.\n"
      "With --tune: the fastest number of workers, readers and batches ahead on this machine, as TOML.\n"
      "With --vs: this loader and one with other keys in turn, and the ratio of their rates.\n"
      "With --distributed: all-reduce between the processes, and the net's step with and without it.",
      "flowtrain bench");
  ConfigFlags flags(app);
  BenchOptions options;
  std::string json;
  app.add_option("--stage", options.stages, "order, read, sample, transfer or pipeline; repeatable; default: all")
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "time for each thing that is measured")->check(CLI::Range(0.01, 3600.0));
  add_path(app, "--json", json, "also write the metrics to this file");
  VsOptions vs;
  auto* const changes =
      app.add_option("--vs", vs.changes,
                     "KEY=VALUE: a key of the other loader, e.g. sampler.process=true or run.plugins=[\"b.so\"]; "
                     "repeatable")
          ->allow_extra_args(false)
          ->check([](const std::string& text) {
            return text.find('=') == text.npos ? text + ": expected key=value" : std::string();
          });
  auto* const same =
      app.add_flag("--same", vs.same,
                   "first compare the bytes of both loaders; the first sample and field that differ end it with code 3")
          ->needs(changes);
  app.add_option("--batches", vs.batches, "batches that --same compares; default: those of an epoch")
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
  const Launch chosen = find_launch(launch, [&] { return config; });
  if (!vs.changes.empty()) {
    if (!options.stages.empty())
      throw UserError(ExitCode::usage, "--stage: --vs compares whole loaders", "leave out one of the two");
    if (!std::holds_alternative<SingleProcess>(chosen))
      throw UserError(ExitCode::usage, "--vs: it compares the loaders of one process",
                      "leave it out, or what makes several processes");
    compare_loaders(start, config, vs, options.seconds, json);
    return 0;
  }
  if (!tuned.empty()) {
    if (!options.stages.empty())
      throw UserError(ExitCode::usage, "--stage: --tune measures whole loaders", "leave out one of the two");
    if (!std::holds_alternative<SingleProcess>(chosen))
      throw UserError(ExitCode::usage, "--tune: it tunes the loader of one process",
                      "leave it out, or what makes several processes");
    tune(config, start.config, options.seconds, tuned, json);
    return 0;
  }
  if (!std::holds_alternative<SingleProcess>(chosen)) {
    if (!options.stages.empty())
      throw UserError(ExitCode::usage, "--stage: several processes measure their exchange, not the data stages",
                      "leave it out, or --distributed");
    return computing_parts().bench(chosen, {config, options.seconds, json, arguments});
  }
  const auto report = run_bench(config, options);
  std::fputs(to_table(report).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(report));
  return 0;
}

}  // namespace flowtrain::commands
