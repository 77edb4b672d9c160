#pragma once
// Draws a line chart of characters.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/watch/styled.h"

namespace flowtrain::watch {

struct ChartPoint {
  double x, y;
  double low = y, high = y;  ///< the range of the values whose mean is y
};

struct ChartData {
  std::vector<ChartPoint> line;    ///< points in order of x; several in a column are drawn as their mean and range
  std::vector<ChartPoint> marks;   ///< single points, such as validations
  std::optional<ChartPoint> best;  ///< the best of the marks
};

struct ChartShape {
  int columns, rows;  ///< the size of the drawing with labels, lines and axis
  bool log_y = false;
  bool unicode = true;  ///< draws dots of braille; otherwise ASCII letters
  std::function<std::string(double)> x_label;
};

/// Returns the rows of a chart: the labels of y on the left, and those of x below. The line is the mean of each column,
/// with the range of its values behind it. "o" is a mark, "*" the best one. Where y cannot be logarithmic, as no value
/// is above 0, it is linear. Without points, or without room, the rows are empty.
std::vector<Row> draw_chart(const ChartData& data, const ChartShape& shape);

}  // namespace flowtrain::watch
