#include "stages/torch/parallel/step_exchange.h"

#include <torch/types.h>

#include <optional>
#include <utility>

#include "nets/mistake.h"
#include "nets/models/net.h"
#include "sampling/core/error.h"
#include "stages/learner_spec.h"
#include "stages/torch/parallel/data_parallel.h"
#include "stages/torch/parallel/torch_group.h"

namespace flowtrain {

namespace {

// A process alone has nothing to average, and is spared the copies into buckets.
class Alone : public StepExchange {
 public:
  Alone(std::vector<Pass>& passes, double accum, bool has_gradients)
      : passes_(passes), accum_(accum), has_gradients_(has_gradients) {}

  void begin_batch(std::uint64_t iteration, const Slab& slab, bool, const StepFlags&) override {
    iteration_ = iteration;
    share_ = slab.share();
  }
  void begin(std::size_t) override {}
  double divisor() const override { return accum_ / share_; }
  void backward(std::size_t pass, const at::Tensor& loss, const at::Tensor&) override {
    if (has_gradients_) passes_[pass].backward(loss, iteration_, passes_.size() == 1);
  }
  Zeros contribute_zeros(std::uint64_t, const Slab&, const StepFlags&) override { return Zeros::not_needed; }
  at::Tensor scalars(std::size_t pass) const override { return passes_[pass].sums; }
  at::Tensor flags() const override { return {}; }
  StepStats stats(std::span<const double>) const override { return {}; }

 private:
  std::vector<Pass>& passes_;
  const double accum_;
  const bool has_gradients_;
  std::uint64_t iteration_ = 0;
  double share_ = 1;
};

class OfGroup : public StepExchange {
 public:
  OfGroup(std::vector<Pass>& passes, TorchGroup& group, double accum, const Settings& dist)
      : passes_(passes), accum_(accum) {
    auto options = parallel_options(dist);
    options.only_own = passes.size() > 1;
    std::optional<std::size_t> carrier;
    for (auto& pass : passes) {
      if (!carrier && pass.has_every_iteration()) carrier = parts_.size();
      parts_.push_back(std::make_unique<DataParallel>(group, pass.parameters,
                                                      static_cast<std::int64_t>(1 + pass.scalars.size()), options));
    }
    carrier_ = carrier.value();
  }

  void begin_batch(std::uint64_t, const Slab& slab, bool last, const StepFlags& flags) override {
    seq_ = slab.ticket().seq;
    first_ = slab.ticket().micro == 0;
    last_ = last;
    share_ = slab.share();
    flags_ = flags;
    done_ = 0;
  }
  void begin(std::size_t pass) override { parts_[pass]->begin(first_, last_); }
  // Each process's part is weighed by its share as it is averaged.
  double divisor() const override { return accum_; }
  void backward(std::size_t pass, const at::Tensor& loss, const at::Tensor& scalars) override {
    under_way_ = last_;
    parts_[pass]->backward(loss, scalars, share_, pass == carrier_ ? flags_ : StepFlags());
    under_way_ = false;
    done_ = pass + 1;
  }

  Zeros contribute_zeros(std::uint64_t iteration, const Slab& slab, const StepFlags& flags) override {
    if (under_way_) return Zeros::too_late;
    for (std::size_t i = slab.ticket().seq == seq_ ? done_ : 0; i < passes_.size(); ++i) {
      if (!passes_[i].due(iteration)) continue;
      parts_[i]->contribute_zeros(slab.share(), i == carrier_ ? flags : StepFlags());
      passes_[i].sums = torch::zeros({static_cast<std::int64_t>(1 + passes_[i].scalars.size())});
    }
    return Zeros::sent;
  }

  at::Tensor scalars(std::size_t pass) const override {
    return passes_[pass].sums.defined() ? parts_[pass]->scalars() : at::Tensor();
  }
  at::Tensor flags() const override { return parts_[carrier_]->flags(); }
  StepStats stats(std::span<const double> flags) const override { return parts_[carrier_]->stats(flags); }

 private:
  std::vector<Pass>& passes_;
  const double accum_;
  std::vector<std::unique_ptr<DataParallel>> parts_;  // one for each pass
  std::size_t carrier_ = 0;                           // the first pass that every iteration has: the flags go with it
  // Of the micro-batch under way:
  std::uint64_t seq_ = 0;
  bool first_ = false, last_ = false;
  double share_ = 1;
  StepFlags flags_;
  std::size_t done_ = 0;    // passes
  bool under_way_ = false;  // gradients of a pass are on their way
};

}  // namespace

std::unique_ptr<StepExchange> make_step_exchange(const LearnerSpec& spec, std::vector<Pass>& passes, nets::Net& net) {
  const auto accum = static_cast<double>(spec.train.integer("accum"));
  auto* group = spec.group->size() > 1 ? dynamic_cast<TorchGroup*>(spec.group) : nullptr;
  if (!group) return std::make_unique<Alone>(passes, accum, spec.mode != TrainMode::forward_only);
  auto exchange = std::make_unique<OfGroup>(passes, *group, accum, *spec.dist);
  if (spec.dist->boolean("sync_batch_norm"))
    nets::rethrow_at_key(*spec.dist, "sync_batch_norm", [&] {
      return net.span_batch_norm([group](at::Tensor& values) { group->sum("the statistics of a batch", values); });
    });
  return exchange;
}

}  // namespace flowtrain
