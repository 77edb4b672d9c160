// flowtrain bench --distributed

#include <cstdio>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/library/computing/commands.h"
#include "pipeline/library/computing/ranks.h"
#include "pipeline/tools/bench/distributed_bench.h"
#include "stages/torch/learner/learner.h"
#include "stages/torch/parallel/exchange_bench.h"

namespace flowtrain::computing {

namespace {

int bench_as(const RankInfo& place, const BenchRequest& request) {
  return run_rank(place, request.config, [&](GroupSession& membership, std::unique_ptr<HeldFolder>&) {
    DistributedBenchOptions options;
    options.seconds = request.seconds;
    options.group = &membership.group();
    options.local_rank = static_cast<unsigned>(place.local_rank);
    options.processes_here = static_cast<unsigned>(place.local_world);
    const auto report = run_distributed_bench(request.config, options, make_torch_learner, time_all_reduce);
    if (place.rank != 0) return 0;
    std::fputs(to_table(report).c_str(), stdout);
    if (!request.json.empty()) write_file_atomically(request.json, to_json(report));
    return 0;
  });
}

}  // namespace

int bench(const Launch& launch, const BenchRequest& request) {
  if (auto* plan = std::get_if<SpawnPlan>(&launch)) return start_ranks(*plan, request.config, "bench", request.words);
  return bench_as(std::get<RankInfo>(launch), request);
}

}  // namespace flowtrain::computing
