#include "stages/evaluation/detection_metrics.h"

namespace flowtrain {

Scalars detection_metrics(const CocoEvaluation& coco, const VocEvaluation& voc) {
  Scalars scalars;
  auto name = detection_metric_names().begin();
  for (auto& [unused, score] : coco_score_names) scalars.emplace_back(*name++, coco.all.*score);
  scalars.emplace_back(*name, voc.mean_ap);
  return scalars;
}

}  // namespace flowtrain
