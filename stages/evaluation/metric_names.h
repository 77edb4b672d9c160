#pragma once
// The parts of a validation metric's name.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/parse.h"
#include "stages/evaluation/coco_eval.h"

namespace flowtrain {

/// The beginning of accuracy_per_class's metrics, before the name of the class.
inline constexpr std::string_view class_accuracy = "accuracy.";

/// Returns the one of `metrics`, or the loss, that a scalar belongs to, whatever set stands before it and whatever
/// group of val.group_by after it: "f1" for "f1", "night.f1" and "night.f1.cat". Empty: none. No set is called like a
/// metric.
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

/// Returns the metrics of boxes: COCO's twelve, `ap`, `ap50` … `arl`, and `voc_map`.
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
