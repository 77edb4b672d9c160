#pragma once
// A whole run in milliseconds: the trainer on small parts of its own.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/trainer.h"
#include "sampling/core/reads_until.h"
#include "tests/pipeline/engine/hyper_parameters.h"
#include "tests/support/fakes.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::testing {

/// Which weights it saw shows, too.
inline Scalars validation_metrics(std::uint64_t weight, std::size_t rows) {
  return {{"loss", 1.0}, {"rows", static_cast<double>(rows)}, {"weight", static_cast<double>(weight % 1000)}};
}

/// "Learns" by mixing everything it is given into one number, so that any difference in order, data, draws or rate
/// shows.
class MixingLearner : public Learner {
 public:
  void set_hyper(std::span<const HyperParameters> hyper) override { lr_ = hyper[0].lr; }
  void forward_backward(Slab& slab, const StepFlags&) override {
    if (read_) unread_ = {};
    read_ = false;
    if (on_train) on_train(slab.ticket());
    if (slab.ticket().micro == 0) gradient_ = 0;
    iteration_ = slab.ticket().iteration;
    const auto bytes = slab.layout().bytes();
    for (std::size_t i = 0; i < bytes; i += 7)
      gradient_ = mix64(gradient_ + static_cast<std::uint64_t>(slab.host()[i]));
  }
  bool contribute_zeros(Slab&, const StepFlags&) override { return true; }
  StepStats stats() const override {
    read_ = true;
    StepStats stats{loss, 1};
    stats.overflow = overflows;
    stats.deferred = unread_;
    return stats;
  }
  void update() override {
    if (!read_) remember();
    if (overflows) return;
    weight_ = mix64((weight_ + gradient_) ^ std::bit_cast<std::uint64_t>(lr_));
    ++updates_;
  }
  void discard() override { ++discarded; }
  bool stats_are_free() const override { return is_cheap; }
  void begin_validation() override { rows_ = 0; }
  void validate(Slab& slab) override {
    if (on_validate) on_validate();
    rows_ += slab.rows().size();
  }
  Scalars end_validation() override { return validation_metrics(weight_, rows_); }
  void copy_state(LearnerState& state) override {
    state.model.resize(1);
    state.model[0] = {"w", "I64", {}, true, std::vector<std::byte>(8)};
    std::memcpy(state.model[0].bytes.data(), &weight_, 8);
    state.optim = state.model;
    std::memcpy(state.optim[0].bytes.data(), &updates_, 8);
  }
  void load_state(const LearnerState& state) override {
    std::memcpy(&weight_, state.model.at(0).bytes.data(), 8);
    std::memcpy(&updates_, state.optim.at(0).bytes.data(), 8);
  }

  std::uint64_t weight() const { return weight_; }
  double lr() const { return lr_; }

  std::function<void(const Ticket&)> on_train;
  std::function<void()> on_validate;
  double loss = 0.5;
  bool overflows = false;  ///< its gradients, in half precision
  bool is_cheap = true;    ///< to ask it in each iteration
  int discarded = 0;

 private:
  void remember() {
    ++unread_.steps;
    unread_.overflows += overflows;
    unread_.in_a_row = overflows ? unread_.in_a_row + 1 : 0;
    unread_.most_in_a_row = std::max(unread_.most_in_a_row, unread_.in_a_row);
    if (std::isfinite(loss) || unread_.nonfinite > 0) return;
    unread_.nonfinite = iteration_;
    unread_.loss = loss;
  }

  DeferredStats unread_;
  mutable bool read_ = false;  // the iteration's statistics
  std::uint64_t iteration_ = 0;
  double lr_ = 0;
  std::uint64_t weight_ = 1, gradient_ = 0, updates_ = 0;
  std::size_t rows_ = 0;
};

/// The learner's twin for async validation.
class MixingReplica : public ValidationReplica {
 public:
  explicit MixingReplica(const MixingLearner& learner) : learner_(learner) {}

  void take() override { weight_ = learner_.weight(); }
  void load(const std::vector<StateTensor>& model) override { std::memcpy(&weight_, model.at(0).bytes.data(), 8); }
  void begin_validation() override { rows_ = 0; }
  void validate(Slab& slab) override {
    if (on_validate) on_validate();
    rows_ += slab.rows().size();
  }
  Scalars end_validation() override { return validation_metrics(weight_, rows_); }
  Group& group() override { return *measuring; }

  std::function<void()> on_validate;  ///< on the validation's thread
  Group* measuring = &solo_group();

 private:
  const MixingLearner& learner_;
  std::uint64_t weight_ = 0;
  std::size_t rows_ = 0;
};

/// Far away: from the read of some position on, nothing comes until reads are canceled. Positions are counted by reads,
/// so it wants one reader.
class FarDataset : public FakeDataset {
 public:
  using FakeDataset::FakeDataset;

  /// `then` is called by the first read that waits.
  void away_from(std::uint64_t reads, std::function<void()> then) {
    left_ = static_cast<std::int64_t>(reads);
    then_ = std::move(then);
  }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto left = left_--;
    if (left == 0) then_();
    while (left <= 0 && !ReadsUntil::token().stop_requested()) std::this_thread::yield();
    if (left <= 0) throw SampleError("the server is away");
    return FakeDataset::read(id, buffer);
  }

 private:
  std::function<void()> then_;
  mutable std::atomic<std::int64_t> left_{1 << 30};
};

struct RunSetup {
  unsigned workers = 2;
  std::uint32_t prefetch = 4, accum = 1;
  std::uint64_t last = 60, snapshot_every = 10, validate_every = 0, bad_budget = 0, display_every = 10;
  bool resident = true, skip_when_busy = false, stop_on_error = false;
  std::uint64_t keep_every = 0;
  NonFinitePolicy nonfinite = {};
  bool async = false, final_snapshot = true;
  std::vector<BestRule> best = {{"loss", true}};
  std::function<std::vector<StatefulSchedule>()> schedules = [] { return std::vector<StatefulSchedule>(); };
  EarlyStop early_stop = {};
  ErrorPolicy val_errors = {};
};

struct Outcome {
  std::string params, order;
  TrainerResult result;
  std::string remembered;  ///< the run's state, but for how long it took
};

/// A whole run on fakes. Goes on from the newest snapshot in `folder`, if there is one.
struct TrainerFixture {
  explicit TrainerFixture(const RunSetup& s, const std::filesystem::path& where = {})
      : setup(s), folder(where), dataset(1000, 16, s.resident), val_dataset(100, 16, true) {
    set_console_level(ConsoleLevel::quiet);  // so that a failure is not lost between what hundreds of runs say
  }

  Outcome run(const Interrupt* interrupt = nullptr) {
    RunState state;
    if (std::filesystem::is_directory(folder))
      if (const auto newest = find_newest(folder).path) {
        const auto snapshot = open_snapshot(*newest);
        state = RunState::from_json(snapshot.state_json);
        learner.load_state(read_tensors(snapshot));
      }
    RunPlan run_plan;
    run_plan.first = state.iteration + 1;
    run_plan.last = setup.last;
    run_plan.accum = setup.accum;
    run_plan.snapshot_every = setup.snapshot_every;
    run_plan.validate_every = setup.validate_every;
    run_plan.final_snapshot = setup.final_snapshot;
    run_plan.validate_first = state.validations.due;
    run_plan.optimizers = {stepwise(13, 5)};
    Loader line({"train", dataset, order, sampler, *device, Batches(1000, 32, LastBatch::wrap), 42, 32, setup.accum,
                 setup.workers, 1, setup.prefetch, run_plan.first, run_plan.last,
                 [&](std::uint64_t iteration) { return run_plan.plan(iteration); },
                 [&](Plan& plan) { plan.hyper = run_plan.hyper(plan.iteration); }});
    Loader val({"val", val_dataset, val_order, sampler, *device, Batches(100, 32, LastBatch::pad), 42, 32, 1, 1, 1, 5,
                state.validations.sets[""].batches + 1});
    auto note = [this](const BadSamples::Entry& entry) {
      if (entry.tolerated) warnings.push_back(entry.text());
    };
    BadSamples bad(dataset, {"train", setup.bad_budget}, note), bad_val(val_dataset, {"val", setup.bad_budget}, note);
    Display display(ProgressMode::off, run_plan.last, nullptr);
    std::unique_ptr<SnapshotBranch> snapshots;
    if (!folder.empty())
      snapshots = std::make_unique<SnapshotBranch>(
          SnapshotPolicy{folder, 3, setup.best, setup.keep_every, setup.skip_when_busy, setup.stop_on_error, ""},
          nullptr);
    TrainerParts parts{run_plan, line};
    if (setup.validate_every) parts.validation.sets.push_back({"", val, 4, bad_val});
    parts.learner = &learner;
    parts.rules.schedules = setup.schedules();
    parts.validation.rules = {setup.best, setup.early_stop, setup.val_errors};
    std::optional<AsyncValidation> async;
    if (setup.async) {
      async.emplace(parts.validation.sets, interrupt, setup.val_errors.action);
      parts.validation.async.to = &*async;
      parts.validation.replica = &replica;
    }
    parts.bad_samples = &bad;
    parts.reports.loggers.outlets.to = {&display};
    parts.snapshots.to = snapshots.get();
    parts.interrupt = interrupt;
    if (group) parts.group = group;
    parts.reports.every = setup.display_every;
    parts.rules.nonfinite = setup.nonfinite;
    Trainer trainer(parts, std::move(state));
    Outcome outcome;
    outcome.result = trainer.run();
    outcome.params = params_xxh64(learner);
    outcome.order = trainer.state().samples.order.hex();
    RunState left = RunState::from_json(trainer.state().to_json());
    left.elapsed_s = 0;
    outcome.remembered = left.to_json();
    return outcome;
  }

  RunSetup setup;
  std::filesystem::path folder;
  FarDataset dataset;
  FakeDataset val_dataset;
  FakeSampler sampler{16};
  FakeOrder order{1000, 7}, val_order{100, 7};
  std::unique_ptr<Device> device = make_cpu_device();
  MixingLearner learner;
  MixingReplica replica{learner};
  Group* group = nullptr;  ///< null: it trains alone
  std::vector<std::string> warnings;
};

struct Revived {
  Outcome outcome;
  int starts = 0;
};

/// Runs in `folder`, dies after so many steps (micro-batches) as `steps` says for each start, goes on, and so on to the
/// end.
inline Revived run_dying(const RunSetup& setup, const std::filesystem::path& folder,
                         const std::function<std::uint64_t()>& steps) {
  for (int starts = 1;; ++starts) {
    TrainerFixture fixture(setup, folder);
    fixture.learner.on_train = [left = steps()](const Ticket&) mutable {
      if (--left == 0) throw std::runtime_error("killed");
    };
    try {
      return {fixture.run(), starts};
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace flowtrain::testing
