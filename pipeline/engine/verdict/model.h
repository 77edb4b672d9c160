#pragma once
// A model of the pipeline: from what each stage did in a stretch of time to the rate that other threads would give.
// Arithmetic alone; it measures nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain {

/// What limits a pipeline.
enum class Limit : std::uint8_t {
  none,  ///< not known
  plan,  ///< positions and records of batches; one thread
  read,
  sample,         ///< decodes and augments
  transfer,       ///< copies to the device; one thread
  compute,        ///< the thread that takes the batches
  communication,  ///< of compute, waiting for other processes' gradients
  cores           ///< all are at work, and the net waits for the workers
};
const char* to_text(Limit limit);

/// A stage that makes batches, in a stretch of time.
struct StageLoad {
  Limit stage = Limit::none;
  unsigned threads = 1;
  double samples = 0;    ///< that it handled
  double busy_s = 0;     ///< at work, summed over its threads
  double cpu_share = 1;  ///< of busy_s, that its threads computed and did not wait, 0 … 1
  /// Its rate with one thread less, as a share of its rate; nothing: not known.
  std::optional<double> without_one = {};
};

/// A pipeline in a stretch of time.
struct PipelineLoad {
  double wall_s = 0;      ///< of the thread that takes the batches
  double wait_s = 0;      ///< of that, waiting for a batch
  double exchange_s = 0;  ///< of that, waiting for other processes' gradients
  double samples = 0;     ///< that it took
  bool computes = true;   ///< that thread trains; false: it takes batches and does nothing with them
  double queue_fill = 0;  ///< mean share of the batches ahead that were ready when it asked for one, 0 … 1
  double cpu_s = 0;       ///< that all threads of the process computed
  unsigned cores = 1;
  unsigned prefetch = 4;  ///< loader.prefetch
  std::vector<StageLoad> stages = {};

  const StageLoad* find(Limit stage) const;
};

/// The whole pipeline, times as fast, with one thread or batch more.
struct Gain {
  std::string change;  ///< "one more worker"
  std::string key;     ///< of the config: "loader.workers"
  unsigned to = 0;     ///< the key's value then
  double speedup = 1;
};

/// What limited a pipeline, and what would help.
struct Verdict {
  Limit limit = Limit::none;
  double share = 0;       ///< of the wall time in which all threads of what limits were at work, 0 … 1
  double wait = 0;        ///< share of the wall time that the net waited for batches, 0 … 1
  double queue_fill = 0;  ///< PipelineLoad::queue_fill
  std::optional<double> headspace =
      {};                   ///< times as fast with batches that are always there; nothing: nothing computes
  bool contended = false;   ///< the threads of what limits wait for one another
  std::vector<Gain> gains;  ///< one more worker, one more reader where data are read, one more batch ahead
};

/// The law of utilisation names what limits: the stage whose threads are busy for the greatest share of the time. The
/// stages' capacities bound the rate, and a smooth minimum of them, fitted to the rate that was seen, stands for what
/// varying times cost. The work of more threads follows from StageLoad::without_one, and the cores bound it.
/// Limit::none where nothing was taken.
Verdict judge(const PipelineLoad& load);

/// A stage's rate with one thread more, of that with `threads`: 1 + 1/threads where the threads share nothing. Two
/// stations, one that works for each thread apart and one that serves one thread after the other, with the share of the
/// second that explains `without_one` (mean value analysis of a closed network).
double gain_of_one_more(unsigned threads, std::optional<double> without_one);

}  // namespace flowtrain
