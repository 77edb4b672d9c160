#pragma once
// Finds how many threads and batches a data loader should have, while it trains (loader.workers = "auto").

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/verdict/model.h"

namespace flowtrain {

/// What is tuned. What a run learns does not depend on the loader's shape; with other threads its sums may be rounded
/// in another order.
struct Tuning {
  LoaderShape loader;
  unsigned threads = 0;  ///< that compute uses on the CPU; 0: left as they are

  bool operator==(const Tuning&) const = default;
};

/// Tries one change after the other and keeps what makes iterations shorter: hill climbing along the coordinates. More
/// of something is tried for as long as the net waits for its data, fewer threads where the net computes on the same
/// cores. Where a verdict is given, the change that it predicts most of comes first. Counts no time of its own, so that
/// tests need none. Compute thread.
class Tuner {
 public:
  struct Limits {
    LoaderShape most;  ///< of what may be tried; readers and prefetch only grow
    unsigned least_workers = 1;
    bool shares_cores = false;            ///< the net computes on the CPU
    unsigned most_threads = 0;            ///< 0: threads are left alone
    double seconds = 20;                  ///< of iterations, after which the best so far stays
    double window_s = 1;                  ///< over which a trial is measured
    std::uint64_t window_iterations = 4;  ///< likewise, at least
  };

  /// Begins with what the loader is now.
  Tuner(const Tuning& start, const Limits& limits);

  /// What limits since the last change. Empty: not known.
  using Judge = std::function<Verdict()>;
  /// After each iteration: how long it took, and how much of that was waiting for a batch. Returns what to change to.
  /// `judge` is called once a trial.
  std::optional<Tuning> after(double iteration_s, double waited_s, const Judge& judge = {});

  /// Nothing more will be tried.
  bool settled() const { return settled_; }
  /// What turned out best so far.
  const Tuning& best() const { return best_; }
  /// Its iterations per second, of those with what was there at first; 1 where nothing was better, or nothing measured.
  double gain() const { return first_rate_ > 0 ? best_rate_ / first_rate_ : 1; }

  /// A shape that was measured.
  struct Trial {
    Tuning tuning;
    double rate = 0;       ///< iterations per second
    Verdict verdict = {};  ///< what limited it, where that is known
  };
  const std::vector<Trial>& trials() const { return trials_; }

 private:
  /// False where `change` finds nothing to change. `key`: of a Gain of the same kind; empty: a verdict has none.
  struct Move {
    bool (*change)(Tuning&, const Limits&);
    bool helps_who_waits, helps_who_shares;  ///< for data; the net's cores
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
  std::size_t move_ = 0;      ///< the one under trial
  std::vector<bool> failed_;  ///< moves from the best so far
  std::vector<Trial> trials_;
  Verdict best_verdict_;
  bool best_waits_ = true;  ///< for data, with the best so far
  bool settled_ = false;
};

}  // namespace flowtrain
