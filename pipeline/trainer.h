#pragma once
// The compute thread's loop: takes tickets in sequence and does what they say.

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/detection.h"
#include "pipeline/display.h"
#include "pipeline/graph.h"
#include "pipeline/nonfinite.h"
#include "pipeline/run_state.h"
#include "pipeline/schedule.h"
#include "pipeline/snapshot_branch.h"
#include "pipeline/tuner.h"
#include "stages/bad_samples.h"
#include "stages/compute.h"
#include "stages/group.h"

namespace flowtrain {

class Interrupt;

/// What the loop works on; everything outlives the trainer. `validation`, `snapshots` and
/// `interrupt` are null in runs without them.
struct TrainerParts {
  Schedule schedule;
  Line& line;
  Line* validation = nullptr;
  std::uint64_t validation_batches = 0;  ///< of one validation
  const DetectionMetrics* detection = nullptr;  ///< null where none is asked for
  std::string ruling_metric = "loss";    ///< decides which snapshot is best; `loss`: lower is better
  std::size_t keep_best = 1;             ///< length of the ranking
  Learner* learner = nullptr;
  Group* group = &solo_group();          ///< those who train together
  BadSamples* bad_samples = nullptr;
  BadSamples* bad_validation_samples = nullptr;  ///< null without validation
  Display* display = nullptr;
  SnapshotBranch* snapshots = nullptr;
  const Interrupt* interrupt = nullptr;
  Tuner* tuner = nullptr;                ///< of `line`; null: it keeps its shape
  std::uint64_t display_every = 20;      ///< iterations; 0 = never
  NonFinitePolicy nonfinite = {};
};

/// How a run ended.
struct TrainerResult {
  std::uint64_t iteration = 0;          ///< the last one that was finished
  std::optional<int> signal;            ///< that interrupted it
  double wall_s = 0, wait_s = 0;        ///< of the loop; and of that, waiting for data
};

/// Runs on the thread that calls run(), which is the compute thread.
class Trainer {
 public:
  /// Goes on from `state` (a fresh one: iteration 0).
  Trainer(TrainerParts parts, RunState state);

  /// From the schedule's first iteration to its last, or to an interruption. Errors of every stage surface here, in
  /// their turn, after all threads have been stopped.
  TrainerResult run();
  const RunState& state() const { return state_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool step(const Ticket& ticket);
  void heed(const Votes& votes);
  void train(const Ticket& ticket);
  void finish_iteration(const Ticket& ticket, const Slab& slab);
  Votes own_votes() const;
  void update(const Slab& slab, bool looks);
  void settle_samples(std::uint64_t iteration, const Votes& votes);
  std::uint64_t trained_on(const StreamRow& row) const;
  UserError nonfinite(const Slab& slab, const StepResult& done, const std::string& why = {}) const;
  void recover(const Slab& slab, const StepResult& done);
  void roll_back(const Slab& slab, const StepResult& done);
  void set_learning_rate(std::uint64_t iteration);
  void validate(std::uint64_t iteration);
  void snapshot(SnapshotReason reason);
  void warn(const std::string& text) const;
  bool interrupted();
  bool grouped() const { return parts_.group->size() > 1; }
  bool signalled();
  std::stop_token wakes() const;
  void forget_iteration();
  bool in_haste(const Ticket& ticket);
  Ticket await();
  void tune(double iteration_s, double waited_s);
  void report(std::uint64_t epoch);
  void compare_ranks();
  bool rank(std::uint64_t iteration, const Figures& figures);

  TrainerParts parts_;
  RunState state_;
  TrainerResult result_;
  double lr_ = 0;
  bool mid_iteration_ = false;        // micro-batches of an iteration are still to come
  std::vector<std::uint64_t> ids_;    // of that iteration's records; empty where several processes train
  std::vector<BadSample> bad_;        // of the iteration under way
  std::map<std::uint64_t, std::uint64_t> substitutes_;  // likewise, of bad samples by position; of several attempts the last
  std::vector<StreamRow> rows_;       // likewise, of all processes, as drawn; empty where one process trains
  std::uint64_t snapshot_taken_ = 0;  // iteration of the newest one, so that none is taken twice
  // Since the last report:
  Clock::time_point start_, since_;
  double waiting_s_ = 0, computing_s_ = 0;  // of the iteration under way
  double waited_s_ = 0, compute_s_ = 0, exchange_s_ = 0, exposed_s_ = 0;
  std::uint64_t samples_ = 0, iterations_ = 0;
  StepEvent event_;
  Figures loss_parts_;  // of the last iteration that was looked at
};

/// `params_xxh64`: over the parameters' bytes in name order.
std::string params_xxh64(Learner& learner);

}  // namespace flowtrain
