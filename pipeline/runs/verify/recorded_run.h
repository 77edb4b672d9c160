#pragma once
// Reads what a run's folder records of iterations, to compare two runs.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "pipeline/runs/run_reader/appended_lines.h"
#include "sampling/core/error.h"

namespace flowtrain {

/// Reads verify.jsonl line by line, however long it is.
class HashJournalReader {
 public:
  /// Begins at the first line; a missing file has none.
  explicit HashJournalReader(const std::filesystem::path& path);

  /// Returns false at the end. A line that is still being written does not count.
  explicit operator bool() const { return has_line_; }
  void next();
  std::uint64_t iteration() const { return iteration_; }
  const std::string& text() const { return text_; }
  /// Returns the line as an object. Throws UserError(data) if it is not one.
  nlohmann::ordered_json line() const;

 private:
  UserError damaged() const;

  const std::filesystem::path path_;
  AppendedLines lines_;  // the read lines; those from place_ on are still to come
  std::size_t place_ = 0;
  std::string text_;
  std::uint64_t number_ = 0, iteration_ = 0;
  bool has_line_ = false;
};

/// The values of a train line; null if the line has none, or the value is not finite.
struct RecordedStep {
  nlohmann::ordered_json loss, grad_norm;
};

/// The lines of metrics.jsonl with computed values, by iteration.
struct RecordedMetrics {
  std::map<std::uint64_t, RecordedStep> train;
  std::map<std::uint64_t, nlohmann::ordered_json> val;
  std::optional<nlohmann::ordered_json> end;
  std::uint64_t last = 0;  ///< the greatest iteration of any line
};

/// Reads metrics.jsonl; a missing file is an empty result. Lines that are not objects are skipped.
RecordedMetrics read_metrics(const std::filesystem::path& run);

/// A snapshot by its manifest and the headers of its files; tensors are not read.
struct RecordedSnapshot {
  std::filesystem::path path;
  nlohmann::ordered_json model, optimizer;  ///< {TENSOR: "F32 (120, 400) 16 hex digits"}, as in verify.jsonl
};

/// The complete snapshots of a run by iteration, and the number of processes that trained the newest one, or 0.
struct RecordedSnapshots {
  std::map<std::uint64_t, RecordedSnapshot> all;
  int ranks = 0;
};
RecordedSnapshots read_snapshots(const std::filesystem::path& run);

}  // namespace flowtrain
