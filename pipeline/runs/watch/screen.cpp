#include "pipeline/runs/watch/screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/runs/watch/chart.h"
#include "sampling/core/text.h"

namespace flowtrain::watch {
namespace {

using nlohmann::ordered_json;

constexpr std::array zoom_shares{1.0, 0.5, 0.2, 0.05};
constexpr std::array<const char*, zoom_shares.size()> zoom_names{"all", "last half", "last fifth", "last 1/20"};
constexpr std::array axis_names{"iteration", "epoch", "samples", "time"};
constexpr int rows_for_two_charts = 20;

// Returns the metrics of validation, then those of training lines.
std::vector<std::string> metrics_of(const RunView& run) {
  std::vector<std::string> names{"loss"};
  for (auto* series : {&run.history.val(), &run.history.train()})
    for (auto& [name, points] : *series)
      if (std::ranges::find(names, name) == names.end() && name != "epoch") names.push_back(name);
  return names;
}

std::string shown_metric(const RunView& run, const Choices& choices, bool one_chart) {
  if (choices.metric) return *choices.metric;
  if (one_chart) return "loss";
  if (run.summary.best && run.summary.best->metric != "loss") return run.summary.best->metric;
  for (auto& [name, points] : run.history.val())
    if (name != "loss") return name;
  return run.history.train().contains("samples_per_s") ? "samples_per_s" : "loss";
}

// Maps iterations to x: linear between the points where both are known.
class AxisScale {
 public:
  AxisScale(const RunView& run, Axis axis) : axis_(axis) {
    const auto& train = run.history.train();
    const char* field = axis == Axis::samples ? "samples" : axis == Axis::time ? "elapsed_s" : "";
    if (const auto found = train.find(field); found != train.end()) points_ = found->second.points();
    const auto& epoch = run.history.newest("epoch");
    const auto end = number_in<double>(epoch, "iter"), epochs = number_in<double>(epoch, "epoch");
    if (axis == Axis::epoch && end && epochs && *epochs > 0)
      points_ = {{0, 0, 0, 0}, {*end, *epochs, *epochs, *epochs}};
    if (points_.size() < 2) axis_ = Axis::iteration;
  }

  /// Returns the axis: iteration, if the run does not know the requested one.
  Axis axis() const { return axis_; }

  double at(double iteration) const {
    if (axis_ == Axis::iteration) return iteration;
    auto upper = std::ranges::lower_bound(points_, iteration, {}, &MetricPoint::iteration);
    upper = std::clamp(upper, points_.begin() + 1, points_.end() - 1);
    const auto lower = upper - 1;
    const double length = upper->iteration - lower->iteration;
    const double share = length > 0 ? (iteration - lower->iteration) / length : 0;
    return lower->value + share * (upper->value - lower->value);
  }

  std::string label(double x) const {
    switch (axis_) {
      case Axis::time: return format_duration(x);
      case Axis::epoch: return "epoch " + printed("%.1f", x);
      case Axis::samples: return format_count(static_cast<std::uint64_t>(std::max(0.0, x))) + " samples";
      case Axis::iteration: break;
    }
    return format_count(static_cast<std::uint64_t>(std::max(0.0, x)));
  }

 private:
  Axis axis_;
  std::vector<MetricPoint> points_;
};

std::vector<ChartPoint> points_of(const SeriesByName& series, const std::string& name, double from,
                                  const AxisScale& scale) {
  std::vector<ChartPoint> points;
  const auto found = series.find(name);
  if (found == series.end()) return points;
  for (auto& point : found->second.points())
    if (point.iteration >= from) points.push_back({scale.at(point.iteration), point.value, point.low, point.high});
  return points;
}

// Returns the newest value of a metric that series has, or the last one if the newest line has none.
double value_now(const std::string& name, const SeriesByName& series, const ordered_json& line) {
  return number_in<double>(line, name.c_str()).value_or(series.at(name).points().back().value);
}

Row chart_title(const RunView& run, const std::string& name, bool log_y) {
  const auto& train = run.history.train();
  const auto& val = run.history.val();
  Row title;
  title.add(" " + name, Style::bold);
  if (log_y) title.add(" (log)", Style::dim);
  if (train.contains(name))
    title.add("  " + format_loss(value_now(name, train, run.history.newest("train"))), Style::accent);
  if (val.contains(name))
    title.add("  o validation " + format_loss(value_now(name, val, run.history.newest("val"))), Style::second);
  if (const auto& best = run.summary.best; best && best->metric == name)
    title.add(concat("  * best ", format_loss(best->value), " at ", format_count(best->iteration)), Style::good);
  return title;
}

void add_chart(std::vector<Row>& screen, const RunView& run, const std::string& name, const Choices& choices,
               const ScreenSize& size, int rows) {
  if (rows < 1) return;
  const AxisScale scale(run, choices.axis);
  const auto last = static_cast<double>(run.summary.iteration);
  const double from = last * (1 - zoom_shares[static_cast<std::size_t>(choices.zoom)]);
  ChartData data{
      points_of(run.history.train(), name, from, scale), points_of(run.history.val(), name, from, scale), {}};
  if (const auto& best = run.summary.best; best && best->metric == name && static_cast<double>(best->iteration) >= from)
    data.best = {scale.at(static_cast<double>(best->iteration)), best->value};
  screen.push_back(chart_title(run, name, choices.log_y));
  const auto label = [&](double x) { return scale.label(x); };
  auto chart = draw_chart(data, {size.columns, rows - 1, choices.log_y, size.unicode, label});
  if (data.line.empty() && data.marks.empty() && !chart.empty()) chart[0] = Row("   no values yet", Style::dim);
  std::ranges::move(chart, std::back_inserter(screen));
}

Row status_row(const RunView& run, int columns) {
  const RunSummary& summary = run.summary;
  constexpr std::array styles{Style::accent, Style::good, Style::good, Style::second, Style::bad};
  Row row;
  row.add(" " + run.name, Style::bold)
      .add("  " + std::string(status_name(summary.status)), styles[static_cast<std::size_t>(summary.status)]);
  if (!summary.age_s) return row;
  const std::string age = concat(" last line ", format_duration(*summary.age_s), " ago ");
  const int blanks = columns - row.width() - width_of(age);
  if (blanks > 0) row.add(std::string(static_cast<std::size_t>(blanks), ' ') + age, Style::dim);
  return row;
}

// Returns the verdict of a run that has ended, or the limiting stage of its newest line.
Row limit_row(const RunView& run) {
  const auto& verdict = run.history.newest("verdict");
  if (const auto text = text_in(verdict, "text"); text && run.summary.status != RunStatus::running)
    return Row(" " + *text);
  const auto& line = run.history.newest("train");
  Row row;
  if (const auto limit = text_in(line, "limit")) {
    row.add(" limited by " + *limit);
    if (const auto share = number_in<double>(line, "limit_share")) row.add(printed(" %.0f %%", 100 * *share));
  }
  if (const auto fill = number_in<double>(line, "queue_fill"))
    row.add(printed("%sbatches ready %.0f %%", row.width() ? "  " : " ", 100 * *fill));
  return row;
}

bool has_one_chart(const ScreenSize& size) { return size.rows < rows_for_two_charts; }

int log_rows(int rows) { return rows < 12 ? 0 : std::clamp(rows / 5, 2, 10); }

void add_log(std::vector<Row>& screen, const LogTail& log, int rows, bool narrow) {
  const auto& lines = log.lines();
  const auto count = std::min<std::size_t>(lines.size(), static_cast<std::size_t>(std::max(0, rows)));
  for (auto line = lines.end() - static_cast<std::ptrdiff_t>(count); line != lines.end(); ++line) {
    Row row(" ");
    if (!narrow && !line->time.empty()) row.add(line->time + " ", Style::dim);
    screen.push_back(row.add(line->text, line->is_warning ? Style::bad : Style::plain));
  }
  screen.resize(screen.size() + static_cast<std::size_t>(std::max(0, rows)) - count);
}

Row keys_row(const RunView& run, const Choices& choices, int columns) {
  const auto axis = AxisScale(run, choices.axis).axis();
  const std::vector<std::string> parts{"q quit", "tab metric",
                                       concat("z zoom: ", zoom_names[static_cast<std::size_t>(choices.zoom)]),
                                       concat("x axis: ", axis_names[static_cast<std::size_t>(axis)]),
                                       concat("l log y: ", choices.log_y ? "on" : "off")};
  Row row;
  for (auto& part : parts)
    if (row.width() + 2 + width_of(part) <= columns) row.add((row.width() ? "  " : " ") + part, Style::dim);
  return row;
}

}  // namespace

Progress progress_of(const RunSummary& summary, const ordered_json& line) {
  Progress now;
  now.iter = summary.iteration;
  now.max_iter = summary.last_iteration.value_or(0);
  if (const auto epoch = number_in<double>(line, "epoch"))
    now.epoch = static_cast<std::uint64_t>(std::max(0.0, *epoch));
  now.loss = number_in<double>(line, "loss");
  now.lr = number_in<double>(line, "lr");
  now.samples_per_s = number_in<double>(line, "samples_per_s");
  now.data_wait = number_in<double>(line, "data_wait");
  const auto step = number_in<double>(line, "step_time"), wait = number_in<double>(line, "data_time");
  if (summary.status == RunStatus::running && step && wait && now.max_iter > now.iter)
    now.eta_s = static_cast<double>(now.max_iter - now.iter) * (*step + *wait);
  return now;
}

std::vector<Row> draw_screen(const RunView& run, const Choices& choices, const ScreenSize& size) {
  std::vector<Row> screen;
  screen.push_back(status_row(run, size.columns));
  const Progress now = progress_of(run.summary, run.history.newest("train"));
  screen.emplace_back(now.max_iter > 0 ? format_bar(now, size.columns) : " " + format_line(now));
  if (auto row = limit_row(run); row.width() > 0) screen.push_back(std::move(row));

  const int log = log_rows(size.rows);
  const int charts = size.rows - static_cast<int>(screen.size()) - log - 1;
  const bool one_chart = has_one_chart(size);
  const std::string metric = shown_metric(run, choices, one_chart);
  const int upper = one_chart || metric == "loss" ? 0 : (charts + 1) / 2;
  add_chart(screen, run, "loss", choices, size, upper);
  add_chart(screen, run, metric, choices, size, charts - upper);
  add_log(screen, run.log, log, size.columns < 60);
  screen.push_back(keys_row(run, choices, size.columns));

  screen.resize(static_cast<std::size_t>(std::max(0, size.rows)));
  for (auto& row : screen) row.cut(size.columns);
  return screen;
}

void apply_key(int key, const RunView& run, const ScreenSize& size, Choices& choices) {
  if (key == 'l') choices.log_y = !choices.log_y;
  if (key == 'z') choices.zoom = (choices.zoom + 1) % static_cast<int>(zoom_shares.size());
  if (key == 'x') {
    // The next axis is the next one for which the run has values.
    const auto next = [](Axis axis) {
      return static_cast<Axis>((static_cast<std::size_t>(axis) + 1) % axis_names.size());
    };
    for (choices.axis = next(choices.axis); AxisScale(run, choices.axis).axis() != choices.axis;)
      choices.axis = next(choices.axis);
  }
  if (key != '\t' && key != key_left && key != key_right) return;
  const auto names = metrics_of(run);
  const auto current = std::ranges::find(names, shown_metric(run, choices, has_one_chart(size)));
  const auto count = names.size(), at = static_cast<std::size_t>(current - names.begin());
  choices.metric = names[(at + (key == key_left ? count - 1 : 1)) % count];
}

}  // namespace flowtrain::watch
