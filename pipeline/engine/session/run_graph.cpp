#include "pipeline/engine/session/run_graph.h"

#include "pipeline/engine/graph/wiring.h"
#include "sampling/core/text.h"

namespace flowtrain {

Drawing wire_run(const Session& session, const Loader& loader, TrainerParts& parts,
                 const std::vector<NamedLogger>& loggers, SnapshotBranch* snapshots, AsyncValidation* validation) {
  Wiring graph;
  graph.include(loader.drawing(), "", Wiring::loader_end);
  for (const void* outlet :
       {static_cast<const void*>(&parts.reports.loggers.outlets), static_cast<const void*>(&parts.snapshots),
        static_cast<const void*>(&parts.validation.async)})
    graph.alias(outlet, Wiring::loader_end);
  for (auto& [entry, logger] : loggers) {
    graph.add(logger.get(), entry.name, concat(entry.name, "\n", entry.does), true);
    graph.connect(parts.reports.loggers.outlets, *logger, concat("queue of ", entry.depth, " reports"));
  }
  if (snapshots) {
    graph.add(snapshots, "snapshot", "snapshot\nwrite, fsync, rename", true);
    graph.connect(parts.snapshots, *snapshots, "one copy of the state");
  }
  if (validation) {
    graph.add(validation, "validate", "validate\na copy of the net", true);
    graph.connect(parts.validation.async, *validation, "weights");
  }
  for (auto& set : session.validation())
    graph.include(set->loader->drawing(), set->label() + " ", validation ? "validate" : Wiring::loader_end);
  return graph.drawing();
}

std::string draw_graph(const Config& config) {
  Session session(config, {.checks_memory = false});
  session.open_training();
  session.open_validation();
  session.prepare();
  const RunPlan run_plan = session.run_plan();
  const auto loader = session.make_training_loader(run_plan);
  session.make_validation_loaders();
  TrainerParts parts{run_plan, *loader};
  const auto loggers =
      make_loggers({config, ProgressMode::off, run_plan.first, run_plan.last, nullptr, session.epoch()});
  SnapshotBranch snapshots({}, nullptr);
  AsyncValidation async({}, nullptr, ErrorPolicy::Action::stop);
  AsyncValidation* validation = session.validates_async() ? &async : nullptr;
  return to_dot(wire_run(session, *loader, parts, loggers, &snapshots, validation), config.name());
}

}  // namespace flowtrain
