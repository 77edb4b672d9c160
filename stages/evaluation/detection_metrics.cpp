#include "stages/evaluation/detection_metrics.h"

#include <algorithm>
#include <cctype>

namespace flowtrain {
namespace {

std::vector<std::string> make_names() {
  std::vector<std::string> names;
  for (auto& [name, score] : coco_score_names) {
    auto& lower = names.emplace_back(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  names.emplace_back("voc_map");
  return names;
}

}  // namespace

const std::vector<std::string>& detection_metric_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

bool is_detection_metric(const std::string& name) {
  auto& names = detection_metric_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Scalars detection_metrics(const CocoEvaluation& coco, const VocEvaluation& voc) {
  Scalars scalars;
  auto name = detection_metric_names().begin();
  for (auto& [unused, score] : coco_score_names) scalars.emplace_back(*name++, coco.all.*score);
  scalars.emplace_back(*name, voc.mean_ap);
  return scalars;
}

}  // namespace flowtrain
