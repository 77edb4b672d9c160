#pragma once
// The public interface of this folder: a run, or several over one another, as a page that a browser opens without a
// network.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/runs/report_page/log_warnings.h"

namespace flowtrain {

/// A run to be shown.
struct ReportedRun {
  enum class State {
    unknown,  ///< find out (run_status.h)
    running,  ///< its own process asks
    over,     ///< its own process asks, at its end
  };

  std::filesystem::path folder;
  State state = State::unknown;
  std::string error = {};           ///< what ended it, if known
  LogWarnings* warnings = nullptr;  ///< of its log, for whoever makes one page after the other; null: it is read anew
};

/// Where a page will be, and how large its pictures may make it.
struct ReportOptions {
  std::filesystem::path page_folder = {};  ///< links to files are relative to it; empty: the current folder
  std::size_t picture_bytes = 1'500'000;   ///< PNG files within the page; further ones are links
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

}  // namespace flowtrain
