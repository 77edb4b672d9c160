#pragma once
// Draws the screen of `flowtrain watch`.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/progress.h"
#include "pipeline/runs/run_reader/run_history.h"
#include "pipeline/runs/run_reader/run_summary.h"
#include "pipeline/runs/watch/log_tail.h"
#include "pipeline/runs/watch/styled.h"

namespace flowtrain::watch {

/// The quantity on the x axis.
enum class Axis { iteration, epoch, samples, time };

/// The choices that were made by keys.
struct Choices {
  std::optional<std::string> metric;  ///< default: the metric that decides which validation is best
  Axis axis = Axis::iteration;
  bool log_y = false;
  int zoom = 0;  ///< charts show the last 1, 1/2, 1/5, 1/20 of the run
};

struct ScreenSize {
  int columns, rows;
  bool unicode = true;
};

struct RunView {
  std::string name;  ///< the name of the run's folder
  const RunSummary& summary;
  const RunHistory& history;
  const LogTail& log;
};

/// Returns exactly `size.rows` rows, none wider than `size.columns`: status, progress, what limits the run, charts of
/// the loss and of a metric, messages, keys. What matters least is left out where there is little room.
std::vector<Row> draw_screen(const RunView& run, const Choices& choices, const ScreenSize& size);

/// Changes the choices by a key: left, right and tab go through the metrics, 'l', 'x', 'z' as in the last row.
void apply_key(int key, const RunView& run, const ScreenSize& size, Choices& choices);

/// Codes of keys that are not letters.
inline constexpr int key_left = 1000, key_right = 1001;

/// Returns the newest values, for the progress bar and for lines without a screen.
Progress progress_of(const RunSummary& summary, const nlohmann::ordered_json& train_line);

}  // namespace flowtrain::watch
