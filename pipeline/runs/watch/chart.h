#pragma once
// A line chart of characters.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/watch/styled.h"

namespace flowtrain::watch {

struct ChartPoint {
  double x, y;
  double low = y, high = y;  ///< the range of the values that y is the mean of
};

struct ChartData {
  std::vector<ChartPoint> line;    ///< in order of x; many of them to a column are drawn as their mean and their range
  std::vector<ChartPoint> marks;   ///< single points: validations
  std::optional<ChartPoint> best;  ///< the one of the marks that is best
};

struct ChartShape {
  int columns, rows;  ///< the size of the drawing with labels, lines and axis
  bool log_y = false;
  bool unicode = true;  ///< dots of braille; without it letters of ASCII
  std::function<std::string(double)> x_label;
};

/// Rows of a chart: the labels of y on the left, and those of x below. The line is the mean of each column, with the
/// range of its values behind it. "o" is a mark, "*" the best one. Where y cannot be logarithmic, as no value is above
/// 0, it is linear. Without points, or without room, the rows are empty.
std::vector<Row> draw_chart(const ChartData& data, const ChartShape& shape);

}  // namespace flowtrain::watch
