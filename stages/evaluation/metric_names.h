#pragma once
// What the name of a metric of validation says.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/parse.h"
#include "stages/evaluation/coco_eval.h"

namespace flowtrain {

/// What the metrics of accuracy_per_class begin with, before the name of the class.
inline constexpr std::string_view class_accuracy = "accuracy.";

/// Which of `metrics`, or the loss, a metric is of, whatever set stands before it and whatever group of val.group_by
/// after it: "f1" of "f1", of "night.f1" and of "night.f1.cat". Empty: of none. No set is called like a metric.
inline std::string metric_of(std::string_view scalar, const std::vector<std::string>& metrics) {
  const auto begins = [](std::string_view text, const std::string& name) {
    return text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '.');
  };
  for (auto text : {scalar, scalar.substr(scalar.find('.') + 1)}) {
    for (auto& name : metrics)
      if (begins(text, name)) return name;
    if (begins(text, "loss")) return "loss";
  }
  return {};
}

/// The metrics of boxes: COCO's twelve, `ap`, `ap50` … `arl`, and `voc_map`.
inline const std::vector<std::string>& detection_metric_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(coco_score_names.size() + 1);
    for (auto& [name, score] : coco_score_names) all.push_back(lower_case(name));
    all.emplace_back("voc_map");
    return all;
  }();
  return names;
}

inline bool is_detection_metric(const std::string& name) {
  return std::ranges::find(detection_metric_names(), name) != detection_metric_names().end();
}

}  // namespace flowtrain
