#pragma once
// What the rules that compare validations know of a figure of val.metrics by its name.

#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// What the figures of accuracy_per_class begin with, before the name of the class.
inline constexpr std::string_view class_accuracy = "accuracy.";

/// What is measured, without the name of the validation set that it is measured on: "loss" of "night.loss".
inline std::string_view without_set(std::string_view metric) {
  return metric.starts_with(class_accuracy) ? metric : metric.substr(metric.find('.') + 1);
}

/// Which of `metrics`, or the loss, a figure is of, whatever set stands before it and whatever group of val.group_by
/// after it: "f1" of "f1", of "night.f1" and of "night.f1.cat". Empty: of none. No set is called like a metric.
inline std::string metric_of(std::string_view figure, const std::vector<std::string>& metrics) {
  const auto begins = [](std::string_view text, const std::string& name) {
    return text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '.');
  };
  for (auto text : {figure, figure.substr(figure.find('.') + 1)}) {
    for (auto& name : metrics)
      if (begins(text, name)) return name;
    if (begins(text, "loss")) return "loss";
  }
  return {};
}

/// Whether it is better the lower it is: losses and error rates.
inline bool lower_is_better(std::string_view metric) {
  metric = without_set(metric);
  return metric == "loss" || metric == "perplexity" || metric == "error_rate";
}

/// Whether it is one figure, so that one of two validations can be the better one; others have one for each class.
inline bool is_single_figure(std::string_view metric) {
  metric = without_set(metric);
  return metric != "accuracy_per_class" && metric != "confusion";
}

}  // namespace flowtrain
