#pragma once
// Helpers that the detection operations share.

#include "stages/torch/detection/detector.h"
#include "tests/parity/ops.h"

namespace flowtrain::parity {

/// The steps of CornerNet-Saccade's search.
Ops saccade_ops();

/// The keys that both detectors have; nms_threshold, whose defaults differ, is left alone.
void read_detector_options(const Arguments& set, DetectorOptions& options);

/// `classJ.out`, J from 1.
void add_classes(const ClassBoxes& boxes, NamedTensors& out);

}  // namespace flowtrain::parity
