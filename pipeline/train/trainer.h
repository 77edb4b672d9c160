#pragma once
// The compute thread's loop: takes tickets in sequence and does what they say.

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/graph/graph.h"
#include "pipeline/graph/schedule.h"
#include "pipeline/graph/tuner.h"
#include "pipeline/train/display.h"
#include "pipeline/train/nonfinite.h"
#include "pipeline/train/on_error.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/snapshot_branch.h"
#include "pipeline/validation/early_stop.h"
#include "pipeline/validation/overlapped_validation.h"
#include "pipeline/validation/validation.h"
#include "stages/bad_samples.h"
#include "stages/compute.h"
#include "stages/group.h"
#include "stages/hooks.h"

namespace flowtrain {

class Interrupt;

/// What a snapshot is for.
enum class SnapshotReason {
  period,  ///< may be left out (SnapshotBranch::leaves_out)
  best,    ///< by one of TrainerParts::best, or may become it
  end,     ///< of a run
};

/// What the loop works on; everything outlives the trainer. `snapshots` and `interrupt` are null in runs without them:
/// in all processes, or in none.
struct TrainerParts {
  Schedule schedule;
  Line& line;
  std::vector<ValidationSet> validation = {};  ///< [data.val]'s first
  std::vector<BestRule> best = {
      {"loss", true}};  ///< decide which snapshots are best; of each validation the first rule is told
  Learner* learner = nullptr;
  NetCopy* net_copy =
      nullptr;            ///< for overlapped validation, of one process alone; null: training waits for validations
  bool averages = false;  ///< validation sees averaged weights, where there are any
  Group* group = &solo_group();  ///< those who train together
  BadSamples* bad_samples = nullptr;
  Display* display = nullptr;
  SnapshotBranch* snapshots = nullptr;
  const Interrupt* interrupt = nullptr;
  Tuner* tuner = nullptr;            ///< of `line`; null: it keeps its shape
  std::uint64_t display_every = 20;  ///< iterations; 0 = never
  NonFinitePolicy nonfinite = {};
  ErrorPolicy train_errors = {}, val_errors = {};
  EarlyStop early_stop = {};
  std::vector<Plateau> plateaus = {};
  Hooks* hooks = nullptr;                  ///< null: nobody wants to be called
  Profile* profile = nullptr;              ///< told of phases; null: nobody asks
  std::uint64_t iterations_per_epoch = 0;  ///< for hooks; 0: the run has no epochs
};

/// How a run ended.
struct TrainerResult {
  std::uint64_t iteration = 0;    ///< the last one that was finished
  std::optional<int> signal;      ///< that interrupted it
  std::string stopped = {};       ///< why it ended early; empty where it did not
  std::exception_ptr error = {};  ///< that ended it so, all being saved; null where none did
  double wall_s = 0, wait_s = 0;  ///< of the loop; and of that, waiting for data
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

  void loop();
  void conclude();
  bool step(const Ticket& ticket);
  void begin_iteration(std::uint64_t iteration);
  void end_iteration();
  void tally();
  bool ends_epoch() const {
    return parts_.iterations_per_epoch > 0 && state_.iteration % parts_.iterations_per_epoch == 0;
  }
  void report_epoch();
  void count_samples(std::uint64_t more) { samples_ += more, epoch_samples_ += more; }
  void use(std::vector<Rates> rates);
  void call(Point point, const Figures& figures = {});
  void heed(const Votes& votes);
  void train(const Ticket& ticket);
  void compute(Slab& slab, bool last);
  void leave_out(const Slab& slab, const std::exception_ptr& failure);
  void finish_iteration(const Ticket& ticket, const Slab& slab);
  Votes own_votes() const;
  void update(const Slab& slab, bool looks);
  void settle_samples(std::uint64_t iteration, const Votes& votes);
  std::uint64_t trained_on(const StreamRow& row) const;
  UserError nonfinite(const Slab& slab, const StepResult& done, const std::string& why = {}) const;
  void catch_up(const Slab& slab, const Unread& unread);
  void recover(const Slab& slab, const StepResult& done);
  void scale_down(const Slab& slab, const StepResult& done);
  void roll_back(const Slab& slab, const StepResult& done);
  void add_rollback_target();
  void set_rates(std::uint64_t iteration);
  void validate(std::uint64_t iteration);
  void validate_inline(std::uint64_t iteration);
  void launch_validation(std::uint64_t iteration);
  void resume_validation();
  void collect_validation();
  void give_up_validation();
  bool take_in_validation();
  void decide(const Figures& figures);
  bool is_left_out(const Validated& found) const;
  void answer(std::uint64_t iteration, const std::exception_ptr& error);
  void count_validation();
  struct Entered {
    std::vector<std::string> links = {};  ///< of the rules that it is the best of
    bool ranked = false;                  ///< whether a rule is to keep its snapshot
  };
  Entered enter(std::uint64_t iteration, const Validated& found);
  void snapshot(SnapshotReason reason, const std::vector<std::string>& links = {});
  void warn(const std::string& text) const;
  bool interrupted();
  bool grouped() const { return parts_.group->size() > 1; }
  bool signalled();
  bool validation_goes_on();
  std::stop_token wakes() const;
  void forget_iteration();
  void hear(const std::exception& error);
  void end_with(const std::exception_ptr& error);
  bool in_haste(const Ticket& ticket);
  Ticket await();
  void tune(double batch_s);
  void report(std::uint64_t epoch);
  void compare_ranks();

  TrainerParts parts_;
  Hooks no_hooks_;
  RunState state_;
  TrainerResult result_;
  std::vector<Rates> rates_, used_;  // one for each optimizer: the schedules', and what hooks have made of them
  double elapsed_before_s_ = 0;      // in earlier starts
  bool mid_iteration_ = false;       // micro-batches of an iteration are still to come
  std::exception_ptr failure_;       // because of which there will be no update of it
  std::vector<std::uint64_t> ids_;   // of that iteration's records; empty where several processes train
  std::vector<BadSample> bad_;       // of the iteration under way
  std::map<std::uint64_t, std::uint64_t>
      substitutes_;                   // likewise, of bad samples by position; of several attempts the last
  std::vector<StreamRow> rows_;       // likewise, of all processes, as drawn; empty where one process trains
  std::uint64_t asked_ = 0;           // how often validation_goes_on() was, since
  Clock::time_point agreed_;          // the ranks' last agreement on it;
  std::uint64_t agrees_after_ = 1;    // the next one is at this question
  std::uint64_t snapshot_taken_ = 0;  // iteration of the newest one, so that none is taken twice
  // Since the last report:
  Clock::time_point start_, since_;
  double waiting_s_ = 0, computing_s_ = 0;  // of the iteration under way, for the tuner
  double waited_s_ = 0, compute_s_ = 0, exchange_s_ = 0, exposed_s_ = 0;
  std::uint64_t samples_ = 0, iterations_ = 0;
  // Since the epoch's begin, or that of the run:
  Clock::time_point epoch_since_;
  double epoch_waited_s_ = 0;
  std::uint64_t epoch_samples_ = 0;
  StepEvent event_;
  Figures figures_;  // of the last iteration that was looked at: the loss's parts, several optimizers' rates
  std::optional<OverlappedValidation> overlapped_;  // nothing where validation is inline; last: its thread uses parts_
};

/// `params_xxh64`: over the parameters' bytes in name order.
std::string params_xxh64(Learner& learner);

}  // namespace flowtrain
