#pragma once
// verify.jsonl has hashes of an iteration's input and result. `flowtrain verify` compares two such files.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/task_thread.h"
#include "stages/core/bounded_queue.h"
#include "stages/core/group.h"
#include "stages/loader/slab.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// The rows of an iteration, in the order of its micro-batches.
struct HashedRows {
  std::vector<std::uint64_t> ids;             ///< The ids of the records.
  std::vector<std::uint64_t> hashes;          ///< One hash for each field of a row, row by row.
  std::vector<std::uint64_t> positions = {};  ///< The positions of the rows in the stream.
};

/// Appends a line for an iteration; rank 0 writes those of all processes together:
///
///     {"iter":100, "ranks":1, "loss":…, "grad_norm":…, "ids":[…], "rows":{FIELD: 16 hex digits a row},
///      "model":{TENSOR: "F32 (120, 400) 16 hex digits"}, "optimizer":{…}}
///
/// Fields are hashed by XXH3 as the sample stage wrote them, tensors by XXH64, as in a snapshot's manifest, after the
/// update. Loss and norm are null where they are not finite, or where the update was left out. The compute thread
/// copies the state; a thread of its own hashes and writes. A failed write is a warning, and the run goes on.
class HashJournal {
 public:
  /// `run` is the run's folder, in rank 0.
  HashJournal(const std::filesystem::path& run, Group& group);
  HashJournal(const HashJournal&) = delete;
  HashJournal& operator=(const HashJournal&) = delete;

  /// Adds a micro-batch of the current iteration. `hashes` are those of Loader::row_hashes().
  void add(const Slab& batch, std::span<const std::uint64_t> hashes);
  /// Ends the iteration. `stats` is empty if its update was left out. Waits if two lines are still being made. A
  /// collective.
  void put(std::uint64_t iteration, const std::optional<StepStats>& stats, Learner& learner);
  /// Returns a wait, as Logger::wait_for_written() does.
  std::function<void()> wait_for_written() const;

 private:
  struct Line {
    std::uint64_t iteration = 0;
    std::optional<StepStats> stats = {};
    std::vector<std::string> fields = {};
    HashedRows rows = {};
    LearnerState state = {};
  };

  void write(Line& line);
  void make_line(Line& line);
  HashedRows rows_of_all();

  Group& group_;
  std::optional<JsonLinesFile> file_;  // empty in other ranks, and if it cannot be written
  std::vector<std::string> fields_;    // the names of fields in the current iteration
  std::vector<HashedRows> own_;        // the current iteration, by micro-batch
  std::array<Line, 2> lines_;          // one is filled while the other is written
  BoundedQueue<Line*> free_{2};
  std::optional<TaskThread> tasks_;  // empty without a file; last, because its tasks use all of the above
};

}  // namespace flowtrain
