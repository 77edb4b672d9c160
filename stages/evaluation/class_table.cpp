#include "stages/evaluation/class_table.h"

#include <algorithm>

#include "sampling/core/csv.h"

namespace flowtrain {
namespace {

void append_right(std::string& line, const std::string& text, std::size_t width) {
  line.append(width - std::min(width, text.size()), ' ').append(text);
}

}  // namespace

std::string to_csv(const ClassTable& table) {
  std::string text = "label";
  for (auto& name : table.classes) append_csv_cell(text += ',', name);
  text += '\n';
  for (std::size_t label = 0; label < table.classes.size(); ++label) {
    append_csv_cell(text, table.classes[label]);
    for (std::size_t prediction = 0; prediction < table.classes.size(); ++prediction)
      text.append(1, ',').append(std::to_string(table.at(label, prediction)));
    text += '\n';
  }
  return text;
}

std::vector<std::string> to_lines(const ClassTable& table) {
  const std::size_t classes = table.classes.size();
  std::size_t names = 0;
  for (auto& name : table.classes) names = std::max(names, name.size());
  const auto most = table.counts.empty() ? 0 : *std::max_element(table.counts.begin(), table.counts.end());
  const std::size_t number = std::to_string(classes).size();
  const std::size_t width = std::max(number, std::to_string(most).size()) + 2;
  std::vector<std::string> lines(1, std::string(number + 1 + names, ' '));
  for (std::size_t prediction = 0; prediction < classes; ++prediction)
    append_right(lines.front(), std::to_string(prediction), width);
  for (std::size_t label = 0; label < classes; ++label) {
    std::string& line = lines.emplace_back();
    append_right(line, std::to_string(label), number);
    line.append(1, ' ').append(table.classes[label]).append(names - table.classes[label].size(), ' ');
    for (std::size_t prediction = 0; prediction < classes; ++prediction)
      append_right(line, std::to_string(table.at(label, prediction)), width);
  }
  return lines;
}

}  // namespace flowtrain
