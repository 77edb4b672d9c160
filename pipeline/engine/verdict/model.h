#pragma once
// A model of the pipeline: it predicts from each stage's work in a stretch of time the rate with other numbers of
// threads. It is arithmetic alone and measures nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain {

/// The part that limits a pipeline.
enum class Limit : std::uint8_t {
  none,  ///< unknown
  plan,  ///< positions and records of batches; one thread
  read,
  sample,         ///< decodes and augments
  transfer,       ///< copies to the device; one thread
  compute,        ///< the thread that takes the batches
  communication,  ///< the part of compute that waits for other processes' gradients
  cores           ///< every core is at work, and the net waits for the workers
};
const char* to_text(Limit limit);

/// A stage that makes batches, in a stretch of time.
struct StageLoad {
  Limit stage = Limit::none;
  unsigned threads = 1;
  double samples = 0;    ///< number that it handled
  double busy_s = 0;     ///< time at work, summed over its threads
  double cpu_share = 1;  ///< share of busy_s that its threads computed and did not wait, 0 … 1
  /// The rate with one thread less, as a share of its rate; nothing: not known.
  std::optional<double> without_one = {};
};

/// A pipeline in a stretch of time.
struct PipelineLoad {
  double wall_s = 0;      ///< time of the thread that takes the batches
  double wait_s = 0;      ///< part of that, waiting for a batch
  double exchange_s = 0;  ///< part of that, waiting for other processes' gradients
  double samples = 0;     ///< number that it took
  bool computes = true;   ///< true: that thread trains; false: it takes batches and does nothing with them
  double queue_fill = 0;  ///< mean share of the batches ahead that were ready when it asked for one, 0 … 1
  double cpu_s = 0;       ///< CPU time of all threads of the process
  unsigned cores = 1;
  unsigned prefetch = 4;  ///< loader.prefetch
  std::vector<StageLoad> stages = {};

  const StageLoad* find(Limit stage) const;
};

/// The speed-up of the whole pipeline by one thread or batch more.
struct Gain {
  std::string change;  ///< "one more worker"
  std::string key;     ///< key of the config: "loader.workers"
  unsigned to = 0;     ///< new value of the key
  double speedup = 1;
};

/// The limit of a pipeline, and remedies.
struct Verdict {
  Limit limit = Limit::none;
  double share = 0;       ///< share of the wall time in which all threads of the limit were at work, 0 … 1
  double wait = 0;        ///< share of the wall time that the net waited for batches, 0 … 1
  double queue_fill = 0;  ///< PipelineLoad::queue_fill
  std::optional<double> headspace = {};  ///< speed-up by batches that are always ready; nothing: no net
  bool contended = false;                ///< the threads of the limit wait for one another
  std::vector<Gain> gains;               ///< one more worker, one more reader if data are read, one more batch ahead
};

/// Finds the limit by the law of utilisation: the stage whose threads are busy for the greatest share of the time. The
/// stages' capacities bound the rate, and a smooth minimum of them, fitted to the measured rate, includes the cost of
/// varying times. The work of more threads follows from StageLoad::without_one, and the cores bound it. It returns
/// Limit::none if no batch was taken.
Verdict judge(const PipelineLoad& load);

/// Returns the factor on a stage's rate with one thread more than `threads`: 1 + 1/threads if they share nothing. It
/// models two stations, one that works for each thread apart and one that serves one thread after the other;
/// `without_one` gives the share of the second (mean value analysis of a closed network).
double gain_of_one_more(unsigned threads, std::optional<double> without_one);

}  // namespace flowtrain
