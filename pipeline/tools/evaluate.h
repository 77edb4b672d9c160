#pragma once
// Measuring a snapshot on the validation data: `flowtrain test`.

#include <filesystem>
#include <optional>

#include "pipeline/config/config.h"
#include "stages/evaluation/class_table.h"
#include "stages/learner_spec.h"

namespace flowtrain {

struct Evaluation {
  Figures figures;                      ///< the loss first
  std::optional<ClassTable> confusion;  ///< where val.metrics asks for it
};

/// Loss and metrics over the whole validation set, for a net of the classes that the snapshot's was trained on. Throws
/// UserError.
Evaluation evaluate(const Config& config, const std::filesystem::path& snapshot, const MakeLearner& make_learner);

}  // namespace flowtrain
