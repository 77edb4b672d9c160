#pragma once
// The files of a run's folder.

namespace flowtrain {

/// A file or folder that a run writes into its folder. A new one is a line of run_files.
struct RunFile {
  const char* name;
  const char* type = nullptr;  ///< media type; null: `flowtrain serve` does not send the file
  bool is_journal = false;     ///< lines of JSON with `iter`, which a resume cuts back to its snapshot (cut_back())
  bool is_linked = true;       ///< the report links to it
};

/// All of them, in the order of the report's links. A run does not start in a folder that holds one by another hand.
inline constexpr RunFile run_files[] = {
    {"train.log", "text/plain; charset=utf-8"},
    {"metrics.jsonl", "application/x-ndjson", true},
    {"config.toml", "text/plain; charset=utf-8"},
    {"result.json", "application/json"},
    {"env.json", "application/json"},
    {"bad_samples.jsonl", "application/x-ndjson", true},
    {"confusion.csv", "text/csv; charset=utf-8"},
    {"verify.jsonl", "application/x-ndjson", true},
    {"trace.json", "application/json"},
    {"graph.json", "application/json", false, false},
    {"report.html", nullptr, false, false},
    {"snapshots"},
    {"pictures"},
    {"tensorboard"},
    {"logs"},
    {"flight", nullptr, false, false},
};

}  // namespace flowtrain
