#pragma once
// The metrics of a detector by the names that val.metrics, metrics.jsonl and `flowtrain test` have for them.

#include "stages/evaluation/metric_names.h"
#include "stages/evaluation/voc_eval.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Returns all metrics of detection_metric_names(), in that order; -1 if there is no object to find.
Scalars detection_metrics(const CocoEvaluation& coco, const VocEvaluation& voc);

}  // namespace flowtrain
