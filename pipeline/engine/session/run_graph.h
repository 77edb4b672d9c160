#pragma once
// The graph of a run: nodes and edges.

#include <string>
#include <vector>

#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/engine/session/loggers.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/train/trainer.h"

namespace flowtrain {

/// Connects the trainer's `parts` with its side branches, and returns the drawing, which includes the session's
/// loaders. `snapshots` and `validation` may be null.
Drawing wire_run(const Session& session, const Loader& loader, TrainerParts& parts,
                 const std::vector<NamedLogger>& loggers, SnapshotBranch* snapshots, AsyncValidation* validation);

/// Returns the graph of a training run, as `flowtrain graph` draws it. Nothing is started.
std::string draw_graph(const Config& config);

}  // namespace flowtrain
