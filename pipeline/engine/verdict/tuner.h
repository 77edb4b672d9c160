#pragma once
// Finds the best numbers of threads and batches of a data loader while it trains (loader.workers = "auto").

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/verdict/model.h"

namespace flowtrain {

/// A run's results do not depend on the loader's shape; other compute threads may round sums in another order.
struct Tuning {
  LoaderShape loader;
  unsigned threads = 0;  ///< threads of compute on the CPU; 0: unchanged

  bool operator==(const Tuning&) const = default;
};

/// Tries one change after the other and keeps those that make iterations shorter: hill climbing along the coordinates.
/// It tries more of something for as long as the net waits for its data, and fewer threads if the net computes on the
/// same cores. A verdict, if given, moves the change with the best prediction to the front. It reads no clock itself,
/// so tests need none. Compute thread.
class Tuner {
 public:
  struct Limits {
    LoaderShape most;  ///< limit of trials; readers and prefetch only grow
    unsigned least_workers = 1;
    bool shares_cores = false;            ///< the net computes on the CPU
    unsigned most_threads = 0;            ///< 0: threads stay unchanged
    double seconds = 20;                  ///< seconds of iterations, after which the best so far stays
    double window_s = 1;                  ///< length of a trial
    std::uint64_t window_iterations = 4;  ///< least iterations of a trial
  };

  /// Begins with the current loader.
  Tuner(const Tuning& start, const Limits& limits);

  /// Returns the limit since the last change; empty if not known.
  using Judge = std::function<Verdict()>;
  /// Takes an iteration's duration, and its wait for a batch. Returns a change to make. `judge` is called once a trial.
  std::optional<Tuning> after(double iteration_s, double waited_s, const Judge& judge = {});

  /// Returns whether no more trials will follow.
  bool settled() const { return settled_; }
  /// Returns the best tuning so far.
  const Tuning& best() const { return best_; }
  /// Returns the speed-up of the best over the start; 1 if no trial was better, or nothing was measured.
  double gain() const { return first_rate_ > 0 ? best_rate_ / first_rate_ : 1; }

  /// A measured shape.
  struct Trial {
    Tuning tuning;
    double rate = 0;       ///< iterations per second
    Verdict verdict = {};  ///< limit of the trial, if known
  };
  const std::vector<Trial>& trials() const { return trials_; }

 private:
  /// A change to try; false: it has no effect. `key` is that of a Gain of the same kind; empty: a verdict has none.
  struct Move {
    bool (*change)(Tuning&, const Limits&);
    bool helps_who_waits, helps_who_shares;  ///< helps if the net waits for data; if the net shares the cores
    std::string_view key = {};
  };
  static const std::vector<Move>& moves();
  bool worth_trying(const Move& move) const;
  double predicted(const Move& move) const;
  void judge_trial(const Judge& judge);
  std::optional<Tuning> next_trial();
  std::optional<Tuning> settle();
  std::optional<Tuning> change_to(const Tuning& next);

  Limits limits_;
  Tuning now_, best_;
  double first_rate_ = 0, best_rate_ = 0;
  double total_s_ = 0, window_s_ = 0, waited_s_ = 0;
  std::uint64_t iterations_ = 0;
  std::uint64_t to_skip_;     ///< iterations after a change that are not counted: the loader is only starting
  std::size_t move_ = 0;      ///< current trial
  std::vector<bool> failed_;  ///< moves from the best so far that failed
  std::vector<Trial> trials_;
  Verdict best_verdict_;
  bool best_waits_ = true;  ///< the net waits for data with the best so far
  bool settled_ = false;
};

}  // namespace flowtrain
