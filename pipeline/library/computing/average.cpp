// The part of `flowtrain snapshot average` that computes.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/average.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/library/computing/commands.h"
#include "stages/torch/learner/learner.h"
#include "stages/torch/step/batch_statistics.h"

namespace flowtrain::computing {

namespace {

bool has_running_statistics(const std::vector<StateTensor>& model) {
  return std::ranges::any_of(model, [](auto& tensor) { return tensor.name.ends_with("running_mean"); });
}

/// Computes the averaged weights' statistics of batch normalisation from `batches` training batches; 0: one epoch.
void take_statistics(std::vector<StateTensor>& model, const Config& config, std::uint64_t batches) {
  Session session(config);
  session.open_training();
  session.prepare();
  RunPlan plan = session.run_plan();
  const std::uint64_t last = batches > 0 ? batches : session.train().batches.per_epoch();
  plan.last = (last + plan.accum - 1) / plan.accum;
  const auto loader = session.make_training_loader(plan);
  BatchStatistics statistics(session.learner_spec(loader->layout(), config), model);
  loader->start();
  for (std::uint64_t batch = 0; batch < last; ++batch) {
    Ticket ticket;
    if (!loader->next(ticket)) throw InternalError("the loader ended");
    Slab& slab = loader->slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    statistics.add(slab);
    loader->release(ticket);
  }
  loader->stop();
  model = statistics.model();
  log_info(concat("the statistics of ", statistics.layers(), " layers of batch normalisation were computed from ", last,
                  " training batches"));
}

/// Throws UserError(snapshot) if the nets have different classes: the average of their weights is meaningless.
void check_classes(const std::vector<OpenSnapshot>& snapshots) {
  const auto classes_of = [](auto& snapshot) { return RunState::from_json(snapshot.state_json).classes; };
  const auto first = classes_of(snapshots.front());
  for (auto& snapshot : snapshots)
    if (classes_of(snapshot) != first)
      throw UserError(ExitCode::snapshot,
                      concat("the snapshot of iteration ", snapshot.iteration, " has other classes than the first one"),
                      "only weights of nets for the same classes can be averaged");
}

/// Returns the state of a run that has weights, and starts anew otherwise.
std::string state_of(const OpenSnapshot& snapshot) {
  RunState state = RunState::from_json(snapshot.state_json);
  RunState kept;
  kept.iteration = state.iteration;
  kept.samples = state.samples;
  kept.samples_per_epoch = state.samples_per_epoch;
  kept.order = std::move(state.order);
  kept.bad_samples = state.bad_samples;
  kept.world = state.world;
  kept.classes = state.classes;
  kept.pixels = state.pixels;
  kept.fingerprints = state.fingerprints;
  kept.saved = {"params"};
  return kept.to_json();
}

}  // namespace

int average(const AverageRequest& request) {
  std::vector<OpenSnapshot> snapshots;
  for (auto& path : request.snapshots) snapshots.push_back(open_snapshot(path));
  check_classes(snapshots);
  const auto newest = std::ranges::max_element(snapshots, {}, &OpenSnapshot::iteration);
  std::vector<StateTensor> model = averaged_weights(snapshots);
  if (!request.keeps_statistics && has_running_statistics(model))
    take_statistics(model, request.config, request.batches);

  std::vector<TensorView> views;
  for (auto& tensor : model)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data(), tensor.bytes.size()});
  const auto folder = RunFolder::create_at(request.out);
  const auto config = to_toml(request.config);
  const auto path =
      write_snapshot(folder.snapshots(), {newest->iteration, std::move(views), {}, state_of(*newest), config});
  write_config(folder.config_file(), config);
  write_file_atomically(
      folder.path() / "env.json",
      environment_json({}, {{"torch", torch_version()}, {start_folder_key, start_folder(folder.path())}}));
  std::puts(path.c_str());
  return 0;
}

}  // namespace flowtrain::computing
