#pragma once
// Whole runs as `flowtrain CONFIG` starts them, of one or several ranks, in milliseconds: the ranks are threads, and
// what learns is a number.

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/engine/session/run.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/runs/report_page/report_branch.h"
#include "sampling/core/mutex.h"
#include "sampling/core/random.h"
#include "stages/hooks/hooks.h"
#include "tests/pipeline/engine/thread_group.h"

namespace flowtrain::testing {

/// What happens in a session, and what is seen of it.
struct Story {
  std::set<std::uint64_t> not_finite = {};  ///< iterations whose loss is not
  /// Called by each rank before each iteration's first backward; what it throws ends that rank as an error would.
  std::function<void(int rank, std::uint64_t iteration)> before = {};
  /// Called by each rank for each batch of a validation beside training, on its thread; what it throws ends that.
  std::function<void(int rank)> validating = {};
  std::function<void()> at_end = {};                   ///< called by rank 0 at the end of its training
  std::vector<std::uint64_t> weights = {};             ///< of each rank, at its end
  std::vector<std::map<std::string, int>> hooks = {};  ///< of each rank, how often it came to each point
};

/// Mixes the ids of all rows of an iteration, over all ranks, and the rate into a number: any difference in order, rate
/// or weights shows, and the number of ranks does not.
class NumberLearner : public Learner {
 public:
  NumberLearner(const LearnerSpec& spec, Story& story)
      : group_(*spec.process.group), accum_(static_cast<std::uint64_t>(*spec.tables.train.accum)), story_(story) {}
  ~NumberLearner() override { story_.weights[static_cast<std::size_t>(group_.rank())] = weight_; }

  void set_hyper(std::span<const HyperParameters> hyper) override { lr_ = hyper[0].lr; }
  void forward_backward(Slab& slab, const StepFlags& flags) override {
    flags_ = flags;
    const Ticket& ticket = slab.ticket();
    iteration_ = ticket.iteration;
    if (ticket.micro == 0) {
      if (story_.before) story_.before(group_.rank(), iteration_);
      gradient_ = 0;
    }
    for (auto& row : slab.rows())
      if (slab.share() > 0) gradient_ += mix64(row.id + iteration_ * 1000);
    if (ticket.micro + 1u == accum_) exchange();
  }
  bool contribute_zeros(Slab&, const StepFlags&) override { return false; }
  StepStats stats() const override {
    StepStats done{story_.not_finite.contains(iteration_) ? NAN : 1.0 / static_cast<double>(iteration_), 1};
    done.flags = flags_;
    done.clipped = iteration_ % 3 == 0;
    return done;
  }
  void update() override { weight_ = mix64((weight_ + gradient_) ^ std::bit_cast<std::uint64_t>(lr_)); }
  void discard() override {}
  bool stats_are_free() const override { return true; }

  void begin_validation() override {}
  void validate(Slab&) override {}
  Scalars end_validation() override { return scalars_of(weight_); }
  static Scalars scalars_of(std::uint64_t weight) {
    const double accuracy = static_cast<double>(weight % 1000) / 1000;
    return {{"loss", 1 - accuracy}, {"accuracy", accuracy}};
  }

  std::unique_ptr<ValidationReplica> make_replica() override;
  void copy_state(LearnerState& state) override {
    state.model = {{"w", "I64", {}, true, std::vector<std::byte>(8)}};
    std::memcpy(state.model[0].bytes.data(), &weight_, 8);
    state.optim = state.model;
  }
  void load_state(const LearnerState& state) override { std::memcpy(&weight_, state.model.at(0).bytes.data(), 8); }
  void share_state() override { weight_ = std::stoull(group_.broadcast("weights", std::to_string(weight_))); }

  std::uint64_t weight() const { return weight_; }

 private:
  // Halves are whole numbers that doubles hold.
  void exchange() {
    constexpr std::uint64_t low = 0xffff'ffff;
    std::array<double, 2 + all_flags> sums{static_cast<double>(gradient_ & low), static_cast<double>(gradient_ >> 32)};
    std::copy(flags_.values().begin(), flags_.values().end(), sums.begin() + 2);
    group_.sum("gradients", sums);
    gradient_ = static_cast<std::uint64_t>(sums[0]) + (static_cast<std::uint64_t>(sums[1]) << 32);
    std::copy(sums.begin() + 2, sums.end(), flags_.values().begin());
  }

  Group& group_;
  const std::uint64_t accum_;
  Story& story_;
  StepFlags flags_;
  double lr_ = 0;
  std::uint64_t iteration_ = 0, weight_ = 1, gradient_ = 0;
};

class NumberCopy : public ValidationReplica {
 public:
  NumberCopy(const NumberLearner& learner, Group& training, const Story& story)
      : learner_(learner), training_(training), story_(story), beside_(training.beside()) {}
  void take() override { weight_ = learner_.weight(); }
  void load(const std::vector<StateTensor>& model) override {
    if (training_.leads()) std::memcpy(&weight_, model.at(0).bytes.data(), 8);
    weight_ = std::stoull(training_.broadcast("weights", std::to_string(weight_)));
  }
  Group& group() override { return beside_; }
  void begin_validation() override {}
  void validate(Slab&) override {
    if (story_.validating) story_.validating(training_.rank());
  }
  Scalars end_validation() override { return NumberLearner::scalars_of(weight_); }

 private:
  const NumberLearner& learner_;
  Group& training_;
  const Story& story_;
  Group& beside_;
  std::uint64_t weight_ = 0;
};

inline std::unique_ptr<ValidationReplica> NumberLearner::make_replica() {
  return std::make_unique<NumberCopy>(*this, group_, story_);
}

/// Counts where it is called, and logs a metric in each fifth iteration.
class CountingHook : public Hook {
 public:
  CountingHook(std::map<std::string, int>& counts, const Story& story) : counts_(counts), story_(story) {}
  std::vector<HookEvent> events() const override { return {all_events().begin(), all_events().end()}; }
  void on_event(HookEvent event, HookContext& context) override {
    ++counts_[std::string(name_of(event))];
    if (event == HookEvent::iteration_end && context.iteration % 5 == 0)
      context.log("fifth", static_cast<double>(context.iteration));
    if (event == HookEvent::run_end && context.rank == 0 && story_.at_end) story_.at_end();
  }

 private:
  std::map<std::string, int>& counts_;
  const Story& story_;
};

/// 12 rows an iteration, which 1, 2, 3 and 4 ranks share alike.
inline constexpr const char* session_config = R"(name = "session"
[run]
max_iter = 40
device = "cpu"
threads = 1
[data]
dataset = "shapes"
samples = 120
val_samples = 24
size = 8
[loader]
batch = 12
workers = 1
readers = 1
prefetch = 2
[net]
name = "mlp"
[optim]
lr = 0.5
[val]
every = 8
[snapshot]
every = 10
keep_last = 2
[display]
every = 4
progress = "off"
)";

/// Starts `config` in `folder`, as each of `world` ranks, with `sets` (KEY=VALUE) and `resume` as the command line
/// gives them. Returns rank 0's exit code; throws what a rank throws first.
inline int session(const std::filesystem::path& config, const std::filesystem::path& folder, int fixture,
                   const std::vector<std::string>& sets, const std::string& resume, Story& story) {
  Interrupt interrupt;
  story.weights.assign(static_cast<std::size_t>(fixture), 0);
  story.hooks.assign(static_cast<std::size_t>(fixture), {});
  int code = -1;
  as_ranks(fixture, [&](Group& group) {
    StartOptions start;
    start.config = config.string();
    for (auto& set : sets) start.overrides.push_back(parse_set(set));
    start.run_dir = folder;
    start.resume = resume;
    const Start ready = prepare_start(start, group);
    RunOptions options;
    options.progress = ProgressMode::off;
    options.group = &group;
    options.processes_here = static_cast<unsigned>(fixture);
    options.local_rank = static_cast<unsigned>(group.rank());
    options.make_page = [](const std::filesystem::path& place) { return std::make_unique<ReportBranch>(place); };
    const auto make = [&](const LearnerSpec& spec) {
      auto& counts = story.hooks[static_cast<std::size_t>(group.rank())];
      if (spec.process.hooks) spec.process.hooks->add(std::make_unique<CountingHook>(counts, story), "counting");
      return std::make_unique<NumberLearner>(spec, story);
    };
    const int ended = run_training(ready, options, make, interrupt);
    if (group.leads()) code = ended;
  });
  return code;
}

}  // namespace flowtrain::testing
