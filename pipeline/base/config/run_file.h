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
    {.name = "train.log", .type = "text/plain; charset=utf-8"},
    {.name = "metrics.jsonl", .type = "application/x-ndjson", .is_journal = true},
    {.name = "config.toml", .type = "text/plain; charset=utf-8"},
    {.name = "result.json", .type = "application/json"},
    {.name = "env.json", .type = "application/json"},
    {.name = "bad_samples.jsonl", .type = "application/x-ndjson", .is_journal = true},
    {.name = "confusion.csv", .type = "text/csv; charset=utf-8"},
    {.name = "verify.jsonl", .type = "application/x-ndjson", .is_journal = true},
    {.name = "trace.json", .type = "application/json"},
    {.name = "graph.json", .type = "application/json", .is_linked = false},
    {.name = "report.html", .is_linked = false},
    {.name = "snapshots"},
    {.name = "pictures"},
    {.name = "tensorboard"},
    {.name = "logs"},
    {.name = "flight", .is_linked = false},
};

}  // namespace flowtrain
