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

/// Returns the first `pictures` samples of the set, and the worst ones by each of the `rules`, the worst first; of
/// equal ones the earlier record. Pictures are as they are stored, other fields as in rows. Samples without the rule's
/// value and rows that stand for bad samples are never among the worst. Warns if no sample has the value.
ShownSamples samples_to_show(const Measurement& measured, const DataParts& data, const std::vector<Settings>& rules,
                             std::size_t pictures, const std::string& set);

}  // namespace flowtrain
