#pragma once
// Chooses the samples of a test whose pictures are shown: the first ones, and the worst.

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/validation/samples.h"
#include "pipeline/inference/evaluation/detection_errors.h"
#include "pipeline/inference/evaluation/measurement.h"
#include "sampling/core/settings.h"

namespace flowtrain {

/// Returns all [[test.worst]], or one with the defaults if there is none.
std::vector<Settings> worst_rules(const Config& config);

/// The first `pictures` samples of the set, and a list of the worst ones by each of the `rules`, the worst first; of
/// equal ones the earlier record. Their pictures are as they are stored. Samples without the rule's value are never
/// among the worst, nor are rows that stand for bad samples. Warns where no sample has it, as the net or the set gives
/// none.
ShownSamples samples_to_show(const Measurement& measured, const Dataset& dataset, const std::vector<Settings>& rules,
                             std::size_t pictures, const std::string& set);

}  // namespace flowtrain
