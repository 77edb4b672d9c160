#pragma once
// The public interface of this folder: a run, or several over one another, as a page that a browser opens without a
// network.

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/config/metric_rules.h"
#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/runs/report_page/log_warnings.h"
#include "stages/core/every.h"

namespace flowtrain {

/// A run to be shown.
struct ReportedRun {
  enum class State {
    unknown,  ///< find out (run_status.h)
    running,  ///< the run's own process asks
    over,     ///< the run's own process asks, at its end
  };

  std::filesystem::path folder;
  State state = State::unknown;
  std::string error = {};           ///< the error that ended it, if known
  LogWarnings* warnings = nullptr;  ///< the warnings of its log, kept from page to page; null: the log is read again
};

/// The options of a page.
struct ReportOptions {
  std::filesystem::path page_folder = {};  ///< links to files are relative to it; empty: the current folder
  std::size_t picture_bytes = 1'500'000;   ///< limits the PNG files within the page; more pictures are links
};

/// The data that the page draws: one JSON object in UTF-8 (README.md has its members). Files that are missing or
/// damaged are left out, also a last line of metrics.jsonl that is being written.
std::string run_data(const ReportedRun& run, const ReportOptions& options = {});

/// All that a page draws: {"runs":[run_data() of each],"differences":[…]}, the latter the keys in which the
/// configurations of several runs differ.
std::string report_data(const std::vector<ReportedRun>& runs, const ReportOptions& options = {});

/// The whole page: HTML that loads nothing. With several runs they are drawn over one another, with the keys in which
/// their configurations differ.
std::string render_report(const std::vector<ReportedRun>& runs, const ReportOptions& options = {});

/// The facts in graph.json beside the drawing.
struct RunShape {
  Every epoch = {};
  std::uint64_t last_iteration = 0;       ///< the last iteration of the run
  std::uint64_t batch = 0;                ///< samples of an iteration's batches in all processes
  std::vector<RuledMetric> metrics = {};  ///< the metrics of validations
  std::vector<std::pair<std::string, RuledMetric>> best =
      {};  ///< the link and metric of each rule that keeps snapshots
};

/// The text of graph.json: nodes, edges, and the shape; a metric's direction is "min" or "max".
std::string graph_json(const Drawing& drawing, const RunShape& shape);

}  // namespace flowtrain
