#include "pipeline/runs/watch/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "pipeline/base/telemetry/format.h"

namespace flowtrain::watch {
namespace {

constexpr int label_columns = 9;  // the labels of y, and a blank
constexpr int least_columns = label_columns + 4, least_rows = 3;

// The bits of a character's dots, from the top down, in the left and in the right column (Unicode's order of braille).
constexpr int dots_across = 2, dots_down = 4;
constexpr std::array<std::array<std::uint8_t, dots_down>, dots_across> braille_bits{
    {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

std::string braille(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3F))};
}

// Returns the ASCII character that is most like the dots.
char ascii(std::uint8_t dots) {
  const bool upper = (dots & (0x01 | 0x08 | 0x02 | 0x10)) != 0, lower = (dots & (0x04 | 0x20 | 0x40 | 0x80)) != 0;
  return upper && lower ? ':' : upper ? '\'' : '.';
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // Returns the position in the range, 0 … 1, without a division by zero.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// A column of dots, with the values of the line that fall into it.
struct Column {
  double sum = 0;
  int count = 0;
  Range range;

  double mean() const { return sum / count; }
};

struct Cell {
  std::uint8_t line = 0, band = 0;
  char mark = 0;
};

class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}

  int dot_columns() const { return columns_ * dots_across; }
  int dot_rows() const { return rows_ * dots_down; }
  int dot_row(double share) const { return dot_of(1 - share, dot_rows()); }
  int dot_column(double share) const { return dot_of(share, dot_columns()); }

  void dot(int x, int y, std::uint8_t Cell::*layer) { cell(x, y).*layer |= bit(x, y); }
  void vertical(int x, int from, int to, std::uint8_t Cell::*layer) {
    for (int y = std::min(from, to); y <= std::max(from, to); ++y) dot(x, y, layer);
  }
  void mark(int x, int y, char sign) { cell(x, y).mark = sign; }

  void add_row(Row& row, int index, bool unicode) const {
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(index * columns_ + column)];
      const auto dots = cell.line ? cell.line : cell.band;
      if (cell.mark)
        row.add(std::string(1, cell.mark), cell.mark == '*' ? Style::good : Style::second);
      else if (dots == 0)
        row.add(" ");
      else
        row.add(unicode ? braille(dots) : std::string(1, ascii(dots)), cell.line ? Style::accent : Style::dim);
    }
  }

 private:
  static int dot_of(double share, int dots) {
    return std::clamp(static_cast<int>(std::lround(share * (dots - 1))), 0, dots - 1);
  }
  Cell& cell(int x, int y) { return cells_[static_cast<std::size_t>(y / dots_down * columns_ + x / dots_across)]; }
  static std::uint8_t bit(int x, int y) {
    return braille_bits[static_cast<std::size_t>(x % dots_across)][static_cast<std::size_t>(y % dots_down)];
  }

  const int columns_, rows_;
  std::vector<Cell> cells_;
};

// Extends the range. Half a percent of the values at each end may lie outside, so that spikes do not flatten the rest.
void include_most(Range& range, const std::vector<ChartPoint>& points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (auto& point : points) values.push_back(point.y);
  if (values.empty()) return;
  const auto spared = static_cast<std::ptrdiff_t>(values.size() / 200);
  std::nth_element(values.begin(), values.begin() + spared, values.end());
  range.include(values[static_cast<std::size_t>(spared)]);
  std::nth_element(values.begin(), values.end() - 1 - spared, values.end());
  range.include(*(values.end() - 1 - spared));
}

void to_log(std::vector<ChartPoint>& points) {
  std::erase_if(points, [](auto& point) { return point.y <= 0; });
  for (auto& point : points) {
    point.low = std::log10(point.low > 0 ? point.low : point.y);
    point.high = std::log10(point.high);
    point.y = std::log10(point.y);
  }
}

std::string padded(const std::string& text, int columns) { return printed("%*s", columns, text.c_str()); }

// Returns the labels at a chart's side, with as many digits as distinguish neighbours, or as there is room for.
std::vector<std::string> labels_of(const std::vector<double>& values) {
  std::vector<std::string> labels;
  for (int digits = 4; digits <= 7; ++digits) {
    std::vector<std::string> longer;
    for (const double value : values) longer.push_back(printed("%.*g", digits, value));
    const bool fits = std::ranges::all_of(longer, [](auto& each) { return each.size() < label_columns; });
    if (fits || labels.empty()) labels = std::move(longer);
    if (!fits || std::ranges::adjacent_find(labels) == labels.end()) break;
  }
  return labels;
}

void draw_line(Canvas& canvas, const std::vector<ChartPoint>& points, const Range& x, const Range& y) {
  std::vector<Column> columns(static_cast<std::size_t>(canvas.dot_columns()));
  for (auto& point : points) {
    auto& column = columns[static_cast<std::size_t>(canvas.dot_column(x.share(point.x)))];
    column.sum += point.y;
    ++column.count;
    column.range.include(point.low);
    column.range.include(point.high);
  }
  int before = -1;  // the last column with values
  for (int at = 0; at < canvas.dot_columns(); ++at) {
    const Column& column = columns[static_cast<std::size_t>(at)];
    if (column.count == 0) continue;
    const auto row = [&](double value) { return canvas.dot_row(y.share(value)); };
    canvas.vertical(at, row(column.range.low), row(column.range.high), &Cell::band);
    const int end = row(column.mean());
    if (before < 0) canvas.dot(at, end, &Cell::line);
    const int begin = before < 0 ? end : row(columns[static_cast<std::size_t>(before)].mean());
    for (int step = before + 1, last = begin; before >= 0 && step <= at; ++step) {
      const int next = begin + (end - begin) * (step - before) / (at - before);
      // The stroke begins at the middle of the last column, so that steep lines have no gaps and flat ones are thin.
      canvas.vertical(step, next == last ? next : last + (next > last ? 1 : -1), next, &Cell::line);
      last = next;
    }
    before = at;
  }
}

}  // namespace

std::vector<Row> draw_chart(const ChartData& data, const ChartShape& shape) {
  std::vector<Row> rows(static_cast<std::size_t>(std::max(0, shape.rows)));
  if (shape.columns < least_columns || shape.rows < least_rows) return rows;
  auto line = data.line, marks = data.marks;
  const auto is_positive = [](auto& point) { return point.y > 0; };
  const bool log_y = shape.log_y && (std::ranges::any_of(line, is_positive) || std::ranges::any_of(marks, is_positive));
  if (log_y)
    for (auto* points : {&line, &marks}) to_log(*points);
  Range x, y;
  for (auto* points : {&line, &marks}) {
    for (auto& point : *points) x.include(point.x);
    include_most(y, *points);
  }
  if (x.empty()) return rows;

  Canvas canvas(shape.columns - label_columns, shape.rows - 1);
  draw_line(canvas, line, x, y);
  const auto mark = [&](const ChartPoint& point, char sign) {
    canvas.mark(canvas.dot_column(x.share(point.x)), canvas.dot_row(y.share(point.y)), sign);
  };
  for (auto& point : marks) mark(point, 'o');
  if (data.best && (!log_y || data.best->y > 0) && data.best->x >= x.low)
    mark({data.best->x, log_y ? std::log10(data.best->y) : data.best->y}, '*');

  const int plot_rows = shape.rows - 1;
  const auto is_labelled = [&](int row) { return row + 1 == plot_rows || (row % 3 == 0 && row + 2 < plot_rows); };
  std::vector<double> values;
  for (int row = 0; row < plot_rows; ++row) {
    const double share = plot_rows > 1 ? 1 - static_cast<double>(row) / (plot_rows - 1) : 0.5;
    const double value = y.low + share * (y.high - y.low);
    if (is_labelled(row)) values.push_back(log_y ? std::pow(10, value) : value);
  }
  const auto labels = labels_of(values);
  for (int row = 0, next = 0; row < plot_rows; ++row) {
    auto& drawn = rows[static_cast<std::size_t>(row)];
    const std::string label = is_labelled(row) ? labels[static_cast<std::size_t>(next++)] : "";
    drawn.add(padded(label, label_columns - 1) + " ", Style::dim);
    canvas.add_row(drawn, row, shape.unicode);
  }
  const std::string first = shape.x_label(x.low), last = shape.x_label(x.high);
  const int blanks = shape.columns - label_columns - width_of(first) - width_of(last);
  rows.back().add(std::string(label_columns, ' ') + first, Style::dim);
  if (blanks > 0 && x.high > x.low)
    rows.back().add(std::string(static_cast<std::size_t>(blanks), ' ') + last, Style::dim);
  return rows;
}

}  // namespace flowtrain::watch
