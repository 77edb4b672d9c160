// flowtrain bench CONFIG

#include "pipeline/bench.h"

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/commands/ranks.h"
#include "pipeline/distributed_bench.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "stages/torch/exchange_bench.h"
#include "stages/torch/learner.h"

namespace flowtrain::commands {

namespace {

template <class Report>
void show(const Report& report, const std::string& json) {
  std::fputs(to_table(report).c_str(), stdout);
  if (!json.empty()) write_file_atomically(json, to_json(report));
}

int bench_as(const Place& place, const Config& config, double seconds, const std::string& json) {
  return run_rank(place, config, [&](Membership& membership, std::filesystem::path&) {
    const DistributedBenchOptions options{seconds, &membership.group(), static_cast<unsigned>(place.local_rank),
                                          static_cast<unsigned>(place.local_world)};
    const auto report = run_distributed_bench(config, options, make_torch_learner, time_all_reduce);
    if (place.rank == 0) show(report, json);
    return 0;
  });
}

}  // namespace

int bench(const Arguments& arguments) {
  CLI::App app("Measures each data stage alone (order, read, sample) and then the whole line, without a net.\n"
               "With --distributed: all-reduce between the processes, and the net's step with and without it.",
               "flowtrain bench");
  ConfigFlags flags(app);
  BenchOptions options;
  std::string json;
  app.add_option("--stage", options.stages, "order, read, sample or pipeline; repeatable; default: all")
      ->allow_extra_args(false);
  app.add_option("--seconds", options.seconds, "time for each thing that is measured")->check(CLI::Range(0.01, 3600.0));
  app.add_option("--json", json, "also write the figures to this file");
  LaunchOptions launch;
  add_launch_flags(app, launch);
  if (!parse(app, arguments)) return 0;

  const Config config = load_for_use(flags.start());
  const Launch chosen = find_launch(launch, [&] { return config; });
  if (!std::holds_alternative<Alone>(chosen) && !options.stages.empty())
    throw UserError(Exit::usage, "--stage: several processes measure their exchange, not the data stages",
                    "leave it out, or --distributed");
  if (auto* plan = std::get_if<SpawnPlan>(&chosen)) return start_ranks(*plan, config, "bench", arguments);
  if (auto* place = std::get_if<Place>(&chosen)) return bench_as(*place, config, options.seconds, json);
  show(run_bench(config, options), json);
  return 0;
}

}  // namespace flowtrain::commands
