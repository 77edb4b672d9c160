#include "pipeline/tools/replay/rerun.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pipeline/base/errors/policies.h"
#include "pipeline/base/schedules/schedule.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/session/run.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace fs = std::filesystem;

namespace {

constexpr const char* replaying = "flowtrain replay";

struct Enough {};

// Wraps the run's own learner, to look at each iteration.
class WatchedLearner : public Learner {
 public:
  WatchedLearner(std::unique_ptr<Learner> learner, OnScalars on_scalars)
      : learner_(std::move(learner)), on_scalars_(std::move(on_scalars)) {}

  void set_hyper(std::span<const HyperParameters> hyper) override { learner_->set_hyper(hyper); }
  void forward_backward(Slab& slab, const StepFlags& flags) override {
    iteration_ = slab.ticket().iteration;
    learner_->forward_backward(slab, flags);
  }
  bool contribute_zeros(Slab& slab, const StepFlags& flags) override {
    failed_ = true;
    return learner_->contribute_zeros(slab, flags);
  }
  void finish_gradients() override {
    learner_->finish_gradients();
    if (std::exchange(failed_, false)) return;  // an iteration that was not computed has no values
    if (!on_scalars_(iteration_, learner_->stats(), *learner_)) throw Enough();
  }
  StepStats stats() const override { return learner_->stats(); }
  void update() override { learner_->update(); }
  void discard() override { learner_->discard(); }
  /// Every iteration is looked at. set_threads() does nothing: the loader's tuning is not repeated.
  bool stats_are_free() const override { return true; }
  NetSummary net_summary() const override { return learner_->net_summary(); }
  void begin_validation() override { learner_->begin_validation(); }
  void validate(Slab& slab) override { learner_->validate(slab); }
  Detector* detector() override { return learner_->detector(); }
  Scalars end_validation() override { return learner_->end_validation(); }
  void leave_validation() override { learner_->leave_validation(); }
  std::unique_ptr<ValidationReplica> make_replica() override { return learner_->make_replica(); }
  void copy_state(LearnerState& state) override { learner_->copy_state(state); }
  void load_state(const LearnerState& state) override { learner_->load_state(state); }

 private:
  std::unique_ptr<Learner> learner_;
  OnScalars on_scalars_;
  std::uint64_t iteration_ = 0;
  bool failed_ = false;  // an error prevented the computation of the iteration (train.on_error)
};

// Returns whether all numbers are finite: a number is not if all bits of its exponent are set.
bool is_sound(const StateTensor& tensor) {
  const auto all_finite = [&tensor]<class Bits>(Bits exponent) {
    for (std::size_t at = 0; at + sizeof(Bits) <= tensor.bytes.size(); at += sizeof(Bits)) {
      Bits bits;
      std::memcpy(&bits, tensor.bytes.data() + at, sizeof bits);
      if ((bits & exponent) == exponent) return false;
    }
    return true;
  };
  if (tensor.dtype == "F32") return all_finite(std::uint32_t{0x7f800000});
  if (tensor.dtype == "F64") return all_finite(std::uint64_t{0x7ff0000000000000});
  if (tensor.dtype == "F16") return all_finite(std::uint16_t{0x7c00});
  return tensor.dtype != "BF16" || all_finite(std::uint16_t{0x7f80});
}

// Returns the fault of a snapshot; empty if it has none.
std::string fault_of(const SnapshotInfo& snapshot, bool finite) {
  if (!snapshot.complete) return snapshot.reason;
  if (const auto problems = verify_snapshot(snapshot.path); !problems.empty()) return problems.front();
  if (!finite) return {};
  const LearnerState state = read_tensors(open_verified(snapshot.path));
  for (auto* tensors : {&state.model, &state.optim})
    for (auto& tensor : *tensors)
      if (!is_sound(tensor)) return tensor.name + " is not finite";
  return {};
}

// Warns of keys that decide the values and differ from those of the run.
void warn_of_changes(const Config& stored, const Config& now) {
  for (auto& difference : diff(stored, now))
    if (difference.breaks)
      log_warn(concat("this differs from the run: ", difference.key, " = ", shown_value(difference.key, difference.is),
                      " (was ", shown_value(difference.key, difference.was), "), so the values will differ"));
}

bool has_stateful_schedule(const Config& config) {
  return std::ranges::any_of(config.list("schedule"),
                             [](auto& schedule) { return schedules().at(schedule.text("name")).traits.has_state; });
}

bool goes_back(const Config& config) {
  return NonFinitePolicy::from(config.train()).action == NonFinitePolicy::Action::rollback;
}

// Returns a configuration that only trains, without validations, early stops and displays.
Config for_training_again(const EarlierRun& run, Discarding discarding) {
  StartOptions start = run.start;
  const auto set = [&](const char* key, const char* value) { start.overrides.push_back({key, value, replaying}); };
  for (auto* key : {"early_stop.patience", "early_stop.hours", "display.every", "verify.every"}) set(key, "0");
  set("val.samples", "[]");
  if (!has_stateful_schedule(run.config)) set("val.every", "0");
  if (discarding == Discarding::possible) set("train.nonfinite", "skip");
  return load_for_use(start);
}

}  // namespace

EarlierRun find_earlier_run(StartOptions start) {
  auto folder = as_run_folder(start.config);
  if (folder) {
    const Config config = load_for_use(start);
    warn_of_changes(load_stored_config(*folder / "config.toml", config), config);
  } else {
    const Config written = load_config(start.config, start.overrides);
    folder = newest_run(*written.run().dir, written.name());
    const bool draws_seed = !number(written.run().seed);
    if (!folder && draws_seed)
      throw written.run().seed.error("each start draws another seed, and there is no run with one", ExitCode::usage,
                                     "choose one with --seed N");
    if (folder && fs::exists(*folder / "config.toml")) {
      const Config stored = load_stored_config(*folder / "config.toml", written);
      if (draws_seed) start.overrides.push_back({"run.seed", to_toml(*stored.run().seed), folder->string()});
      if (!number(written.loader().batch))
        start.overrides.push_back({"loader.batch", to_toml(*stored.loader().batch), folder->string()});
      warn_of_changes(stored, load_for_use(start));
    }
  }
  Config config = load_for_use(start);
  config.check_trainable();
  Session session(config, {.checks_memory = false, .device = "cpu"});
  session.open_training();
  const std::uint64_t last = session.run_plan().last;
  return {std::move(config), std::move(folder), std::move(start), last};
}

std::optional<fs::path> snapshot_before(const EarlierRun& run, std::uint64_t iteration, bool finite,
                                        const fs::path& requested) {
  if (!requested.empty()) {
    const auto found = open_snapshot(requested).iteration;
    if (found >= iteration)
      throw UserError(
          ExitCode::usage,
          concat("--snapshot ", requested.string(), ": its iteration is ", found, ", which is not before ", iteration),
          "choose an earlier one; `flowtrain snapshot ls RUN` lists them");
    return requested;
  }
  if (!run.folder) return {};
  for (auto& snapshot : list_snapshots(*run.folder / "snapshots")) {
    if (snapshot.iteration >= iteration) continue;
    const std::string fault = fault_of(snapshot, finite);
    if (fault.empty()) return snapshot.path;
    log_warn(concat("skipping ", snapshot.path.string(), ": ", fault));
  }
  return {};
}

std::uint64_t iteration_of(const std::optional<fs::path>& snapshot) {
  return snapshot ? open_verified(*snapshot).iteration : 0;
}

int train_again(const EarlierRun& run, const std::optional<fs::path>& snapshot, Discarding discarding,
                const MakeLearner& make_learner, Interrupt& interrupt, const OnScalars& on_scalars) {
  if (!snapshot)
    log_info(concat("no earlier snapshot exists, so training starts from the initial weights of seed ",
                    seed_of(run.config)));
  const Start start{.config = for_training_again(run, discarding), .snapshot = snapshot, .accept_changes = true};
  RunOptions options;
  options.progress = ProgressMode::off;
  options.in_memory = true;
  try {
    return run_training(
        start, options,
        [&](const LearnerSpec& spec) { return std::make_unique<WatchedLearner>(make_learner(spec), on_scalars); },
        interrupt);
  } catch (const Enough&) {
    return 0;
  } catch (const UserError& error) {
    if (error.code() != ExitCode::numerics || !goes_back(run.config)) throw;
    throw UserError(ExitCode::usage,
                    concat(error.what(), "; the run went back to a snapshot there, which cannot be repeated"),
                    "choose a later snapshot: --snapshot PATH; `flowtrain snapshot ls RUN` lists them");
  }
}

}  // namespace flowtrain
