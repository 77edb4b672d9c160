#pragma once
// The samples of a test whose pictures are shown: the first ones, and the worst.

#include <cstddef>
#include <string>

#include "pipeline/evaluation/detection_errors.h"
#include "pipeline/evaluation/measurement.h"
#include "pipeline/validation/samples.h"
#include "sampling/core/settings.h"

namespace flowtrain {

/// The first `pictures` samples of the set, and the worst ones by [test] worst, worst_by and worst_mode, the worst
/// first; of equal ones the earlier record. Their pictures are as they are stored. Samples without that value are never
/// among the worst, nor are rows that stand for bad samples. Throws UserError(usage) where no sample has it, as the net
/// or the set gives none.
ShownSamples samples_to_show(const Measurement& measured, const Dataset& dataset, const Settings& test,
                             std::size_t pictures, const std::string& set);

}  // namespace flowtrain
