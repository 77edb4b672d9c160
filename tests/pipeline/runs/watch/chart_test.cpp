#include "pipeline/runs/watch/chart.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace flowtrain::chart_test {

using namespace flowtrain::watch;

namespace {

std::string draw(const ChartData& data, ChartShape shape) {
  shape.x_label = [](double x) { return std::to_string(std::lround(x)); };
  std::string text;
  for (auto& row : draw_chart(data, shape)) text += row.text(false) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a rising line, in dots and in letters") {
  const ChartData data{{{0, 0}, {10, 10}}, {}, {}};
  CHECK(draw(data, {.columns = 15, .rows = 5}) ==
        "      10     ⢀⠜\n"
        "            ⡠⠊ \n"
        "          ⢀⠔⠁  \n"
        "       0 ⡠⠊    \n"
        "         0   10\n");
  const auto letters = draw(data, {.columns = 15, .rows = 5, .unicode = false});
  for (const char c : letters) CHECK(static_cast<unsigned char>(c) < 0x80);
}

TEST_CASE("marks and the best of them stand over the line") {
  const ChartData data{{{0, 0}, {10, 10}}, {{0, 10}, {5, 10}}, ChartPoint{5, 10}};
  const auto text = draw(data, {.columns = 15, .rows = 5});
  CHECK(text.find("      10 o  *") != std::string::npos);
}

TEST_CASE("a single spike does not flatten the rest, and stays to be seen") {
  ChartData data;
  for (int i = 0; i < 1000; ++i) data.line.push_back({static_cast<double>(i), i == 500 ? 1e6 : 1 + 0.001 * i});
  const auto text = draw(data, {.columns = 40, .rows = 6});
  CHECK(text.find("1e+06") == std::string::npos);
  CHECK(text.find("1.9") != std::string::npos);
}

TEST_CASE("a logarithmic chart leaves out what is not above 0") {
  const ChartData data{{{0, 1}, {1, 0}, {2, -5}, {3, 100}}, {}, {}};
  const auto text = draw(data, {.columns = 30, .rows = 6, .log_y = true});
  CHECK(text.find("     100 ") != std::string::npos);
  CHECK(text.find("       1 ") != std::string::npos);
  const ChartData negative{{{0, -1}, {1, -2}}, {}, {}};
  CHECK(draw(negative, {.columns = 30, .rows = 6, .log_y = true}) == draw(negative, {.columns = 30, .rows = 6}));
}

TEST_CASE("labels beside a chart tell values apart that are close together") {
  const auto text = draw({{{0, 0.86760}, {9, 0.86764}}, {}, {}}, {.columns = 40, .rows = 9});
  CHECK(text.find("0.86764") != std::string::npos);
  CHECK(text.find("0.8676 ") != std::string::npos);
}

TEST_CASE("one point, equal points, no points, and no room") {
  CHECK(draw({{{5, 1}}, {}, {}}, {.columns = 20, .rows = 5}).find("5") != std::string::npos);
  draw({{{5, 1}, {5, 1}, {5, 1}}, {}, {}}, {.columns = 20, .rows = 5});
  CHECK(draw({}, {.columns = 20, .rows = 3}) == "\n\n\n");
  for (int columns = 0; columns < 16; ++columns)
    for (int rows = -1; rows < 5; ++rows)
      draw({{{0, 0}, {1, 1e300}}, {{1, -1e300}}, {}}, {.columns = columns, .rows = rows});
}

}  // namespace flowtrain::chart_test
