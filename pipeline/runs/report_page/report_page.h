#pragma once
// The public interface of this folder: renders one or several runs as a page that a browser opens without a network.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/runs/report_page/log_warnings.h"

namespace flowtrain {

/// A run to show.
struct ReportedRun {
  enum class State {
    unknown,  ///< find it out (run_status.h)
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

/// Returns the data that the page draws: one JSON object in UTF-8 (README.md lists its members). Missing or damaged
/// files are left out, and so is an unfinished last line of metrics.jsonl.
std::string run_data(const ReportedRun& run, const ReportOptions& options = {});

/// Returns the data of a page with several runs: {"runs":[run_data() of each],"differences":[…]}. The differences are
/// the keys in which the configurations differ.
std::string report_data(const std::vector<ReportedRun>& runs, const ReportOptions& options = {});

/// Returns the whole page: HTML that loads no other files. Several runs share charts, with the keys that differ.
std::string render_report(const std::vector<ReportedRun>& runs, const ReportOptions& options = {});

}  // namespace flowtrain
