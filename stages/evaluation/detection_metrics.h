#pragma once
// The metrics of a detector by the names that val.metrics, metrics.jsonl and `flowtrain test` have for them.

#include <string>
#include <vector>

#include "stages/compute.h"
#include "stages/evaluation/coco_eval.h"
#include "stages/evaluation/voc_eval.h"

namespace flowtrain {

/// COCO's twelve, `ap`, `ap50` … `arl`, and `voc_map`.
const std::vector<std::string>& detection_metric_names();

/// Whether it is one of them.
bool is_detection_metric(const std::string& name);

/// All of them, in that order; -1 where there is no object to find.
Scalars detection_metrics(const CocoEvaluation& coco, const VocEvaluation& voc);

}  // namespace flowtrain
