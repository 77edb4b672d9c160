#include <algorithm>

#include "pipeline/inference/predict/prediction_writer.h"

namespace flowtrain {

std::string class_name(const std::vector<std::string>& classes, std::int64_t label) {
  const auto index = static_cast<std::size_t>(label);
  return index < classes.size() ? classes[index] : std::to_string(label);
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, '?');
  return text;
}

}  // namespace flowtrain
