#pragma once
// Reads the newest messages of a run from train.log.

#include <deque>
#include <filesystem>
#include <string>

#include "pipeline/runs/run_reader/appended_lines.h"

namespace flowtrain::watch {

/// A message of train.log. Those that repeat metrics ("iter 20/700 …", and level debug) are left out.
struct LogLine {
  std::string time;  ///< "01:07:10"
  std::string text;
  bool is_warning = false;  ///< the message is a warning or an error
};

/// Reads the end of the file, and then only appended lines.
class LogTail {
 public:
  explicit LogTail(const std::filesystem::path& run_folder);

  /// Reads new lines. Returns whether there were any.
  bool update();
  /// Returns the newest messages, at most 200, oldest first.
  const std::deque<LogLine>& lines() const { return lines_; }

 private:
  void add(std::string_view line);

  const std::filesystem::path file_;
  ReadMark mark_;
  std::deque<LogLine> lines_;
};

}  // namespace flowtrain::watch
