#pragma once
// What runs in a run: nodes and edges.

#include <string>
#include <vector>

#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/engine/session/loggers.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/train/trainer.h"

namespace flowtrain {

/// Connects the trainer, of which `parts` are, with what runs beside it, and returns the drawing, with the session's
/// lines, which have wired themselves. `snapshots` and `validation` may be null.
Drawing wire_run(const Session& session, const Loader& loader, TrainerParts& parts,
                 const std::vector<NamedLogger>& loggers, SnapshotBranch* snapshots, OverlappedValidation* validation);

/// The graph of a training run, as `flowtrain graph` draws it: built, not started.
std::string draw_graph(const Config& config);

}  // namespace flowtrain
