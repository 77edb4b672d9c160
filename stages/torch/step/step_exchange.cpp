#include "stages/torch/step/step_exchange.h"

#include <torch/types.h>

#include <algorithm>

#include "nets/net.h"
#include "sampling/core/mistake.h"
#include "stages/model/learner_spec.h"
#include "stages/torch/parallel/data_parallel.h"
#include "stages/torch/parallel/torch_group.h"

namespace flowtrain {

StepExchange::StepExchange(const LearnerSpec& spec, std::vector<Pass>& passes, nets::Net& net)
    : passes_(passes),
      accum_(static_cast<double>(*spec.tables.train.accum)),
      has_gradients_(spec.process.mode != TrainMode::forward_only) {
  auto* group = spec.process.group->size() > 1 ? dynamic_cast<TorchGroup*>(spec.process.group) : nullptr;
  if (!group) return;
  auto options = parallel_options(*spec.tables.dist);
  options.only_own = passes.size() > 1;
  options.no_gradients = !has_gradients_;
  for (auto& pass : passes)
    parts_.push_back(std::make_unique<DataParallel>(*group, pass.parameters, pass.value_count(), options));
  // make_passes() guarantees that there is one.
  carrier_ = static_cast<std::size_t>(std::ranges::find_if(passes, &Pass::has_every_iteration) - passes.begin());
  if (spec.tables.dist->boolean("sync_batch_norm"))
    rethrow_at_key(*spec.tables.dist, "sync_batch_norm", [&] {
      return net.span_batch_norm([group](at::Tensor& values) { group->sum("the statistics of a batch", values); });
    });
}

StepExchange::~StepExchange() = default;

void StepExchange::begin_batch(std::uint64_t iteration, const Slab& slab, bool last, const StepFlags& flags) {
  iteration_ = iteration;
  seq_ = slab.ticket().seq;
  first_ = slab.ticket().micro == 0;
  last_ = last;
  share_ = slab.share();
  flags_ = flags;
  done_ = 0;
}

void StepExchange::begin(std::size_t pass) {
  if (!alone()) parts_[pass]->begin(first_, last_);
}

// A group weighs each process's part by its share as it averages.
double StepExchange::divisor() const { return alone() ? accum_ / share_ : accum_; }

void StepExchange::backward(std::size_t pass, const at::Tensor& loss, const at::Tensor& scalars) {
  if (alone()) {
    if (has_gradients_) passes_[pass].backward(loss, iteration_, passes_.size() == 1);
    return;
  }
  under_way_ = last_;
  parts_[pass]->backward(loss, scalars, share_, pass == carrier_ ? flags_ : StepFlags(), passes_[pass].one);
  under_way_ = false;
  done_ = pass + 1;
}

StepExchange::Zeros StepExchange::contribute_zeros(std::uint64_t iteration, const Slab& slab, const StepFlags& flags) {
  if (alone()) return Zeros::not_needed;
  if (under_way_) return Zeros::too_late;
  for (std::size_t i = slab.ticket().seq == seq_ ? done_ : 0; i < passes_.size(); ++i) {
    if (!passes_[i].due(iteration)) continue;
    parts_[i]->contribute_zeros(slab.share(), i == carrier_ ? flags : StepFlags());
    passes_[i].sums = torch::zeros({passes_[i].value_count()});
  }
  return Zeros::sent;
}

at::Tensor StepExchange::scalars(std::size_t pass) const {
  const at::Tensor& sums = passes_[pass].sums;
  return alone() || !sums.defined() ? sums : parts_[pass]->scalars();
}

at::Tensor StepExchange::flags() const { return alone() ? at::Tensor() : parts_[carrier_]->flags(); }

StepStats StepExchange::stats(std::span<const double> flags) const {
  return alone() ? StepStats() : parts_[carrier_]->stats(flags);
}

}  // namespace flowtrain
