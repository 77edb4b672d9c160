#include "stages/torch/step/train_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>

#include "nets/diagnostics/flop_count.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/step/autocast.h"
#include "stages/torch/step/learner_net.h"
#include "stages/torch/step/parameter_groups.h"

namespace flowtrain {

namespace {

// Returns a power of two near the number of terms that a row may have: elements of its largest field of whole numbers.
// Sums over terms are divided by it, so that half precision holds gradients like those of a mean; it rounds no value.
double slots_of_row(const SlabLayout& layout) {
  std::uint64_t most = 1;
  for (const Field& field : layout.fields()) {
    if (field.dtype == DType::f32 || is_image(field)) continue;
    std::uint64_t elements = 1;
    for (const std::int64_t extent : field.shape) elements *= static_cast<std::uint64_t>(extent);
    most = std::max(most, elements);
  }
  return static_cast<double>(std::bit_floor(most));
}

// Refuses groups of rows that the processes do not share equally. The mean over a process's rows weighs all of them
// alike, so the rows of one group would count more in one process than in another; a loss that counts weighs its terms.
void check_shares(const std::vector<Settings>& sources, std::int64_t world, const std::vector<Pass>& passes) {
  const bool counts = std::ranges::all_of(passes, &Pass::counts);
  for (const Settings& source : sources) {
    const std::int64_t rows = source.integer("rows"), below = rows / world * world;
    if (rows == below || (counts && rows > world)) continue;
    throw source.error("rows",
                       concat(rows, " rows cannot be shared equally by ", world,
                              counts ? " processes, each of which needs one at least"
                                     : " processes, and the loss is a mean over rows"),
                       ExitCode::usage,
                       concat("set it to ", below > 0 ? concat(below, " or ") : "", below + world,
                              counts ? "" : ", or let the loss return its sum and its count"));
  }
}

}  // namespace

TrainStep::TrainStep(const LearnerSpec& spec, nets::Net& net)
    : spec_(spec),
      amp_(amp_type(*spec.tables.train.amp)),
      takes_scale_(amp_ == at::kHalf ? nets::compiled_net(net) : nullptr),
      step_(make_training_step(spec, net)),
      slots_of_row_(slots_of_row(spec.data.train_layout)),
      observers_(spec) {
  const nets::NamedTensors parameters = net.parameters();
  const AssignedParameters assigned = assign_parameters(parameters, spec.tables.optims, spec.tables.groups);
  net.freeze(assigned.frozen);
  optimizers_.emplace(spec, assigned, parameters);
  passes_ = make_passes(spec.tables.optims, assigned, *step_);
  if (trains_on_groups(spec)) check_shares(*spec.data.sources, spec.process.group->size(), passes_);
  if (auto* const compiled = nets::compiled_net(net)) {
    const at::Tensor one = torch::ones({}, torch::device(at::Device(spec.process.device)));
    compiled->take_unit_gradient(one);
    for (auto& pass : passes_) pass.one = one;
  }
  forward_flops_.assign(passes_.size(), -1);
  counted_.assign(passes_.size(), -1);
  exchange_.emplace(spec, passes_, net);
}

void TrainStep::begin(std::uint64_t iteration, const nets::NamedTensors& parameters) {
  iteration_ = iteration;
  observers_.begin_iteration(parameters);
  forget();
}

void TrainStep::forget() {
  missing_ = false;
  optimizers_->forget_gradients();
  for (auto& pass : passes_) pass.sums = torch::Tensor();
  norm_ = torch::Tensor();
}

void TrainStep::seed_draws(const Ticket& ticket) const {
  const std::uint64_t step = Stream(spec_.process.seed, Purpose::net, ticket.iteration << 16 | ticket.micro).next64();
  torch::manual_seed(step ^ mix64(rank_of_draws(spec_)));
}

void TrainStep::add_gradients(Slab& slab, BatchAdapter& batches, const StepFlags& flags) {
  const Ticket& ticket = slab.ticket();
  const auto accum = static_cast<std::uint32_t>(*spec_.tables.train.accum);
  exchange_->begin_batch(iteration_, slab, ticket.micro + 1u == accum, flags);
  seed_draws(ticket);
  nets::NamedTensors batch;
  observers_.during(Phase::transfer, [&] { batch = batches(slab); });
  observers_.show_batch(slab, batch);
  for (std::size_t i = 0; i < passes_.size(); ++i)
    if (passes_[i].due(iteration_)) run(i, batch, slab.row_count());
  if (slab.owner().copies()) slab.owner().consumed(ticket.slot);
}

void TrainStep::run(std::size_t number, const nets::NamedTensors& batch, std::size_t rows) {
  Pass& pass = passes_[number];
  exchange_->begin(number);
  if (takes_scale_) takes_scale_->take_loss_scale(optimizers_->loss_scale());
  nets::NamedTensors losses;
  observers_.during(Phase::forward, [&] { losses = counted_forward(number, batch); });
  observers_.show(HookEvent::loss, &HookContext::losses, losses);
  const at::Tensor lowered = pass.lowered(losses);
  const double slots = static_cast<double>(rows) * slots_of_row_;
  const at::Tensor mean = pass.over_slots(lowered, losses, slots);
  const double parts = exchange_->divisor();
  const auto part = optimizers_->scaled(parts == 1 ? mean : mean / parts);
  const auto scalars = pass.values_of(lowered, losses, slots) / parts;
  observers_.during(Phase::backward, [&] { exchange_->backward(number, part, scalars); });
  pass.sums = pass.sums.defined() ? pass.sums + scalars : scalars;
}

// Counts the first pass, and those with larger batches: of smaller ones, the largest stands for all.
nets::NamedTensors TrainStep::counted_forward(std::size_t pass, const nets::NamedTensors& batch) {
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : batch) elements += tensor.numel();
  if (elements <= counted_[pass]) return forward(passes_[pass], batch);
  counted_[pass] = elements;
  const nets::FlopCount count;
  auto losses = forward(passes_[pass], batch);
  forward_flops_[pass] = count.flops();
  return losses;
}

// Backward takes twice as many, to compute the gradients of inputs and of weights.
double TrainStep::flops() const {
  double sum = 0;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if (forward_flops_[i] < 0) return 0;
    const auto often = std::ranges::min(passes_[i].served, {}, &Pass::Served::every).every;
    sum += forward_flops_[i] / static_cast<double>(often);
  }
  return sum * (spec_.process.mode == TrainMode::forward_only ? 1 : 3) * static_cast<double>(*spec_.tables.train.accum);
}

nets::NamedTensors TrainStep::forward(const Pass& pass, const nets::NamedTensors& batch) const {
  const Autocast cast(amp_, at::Device(spec_.process.device).type());
  return (*step_)(batch, pass.losses);
}

bool TrainStep::contribute_zeros(Slab& slab, const StepFlags& flags) {
  const auto zeros = exchange_->contribute_zeros(iteration_, slab, flags);
  missing_ = zeros == StepExchange::Zeros::not_needed;
  return zeros != StepExchange::Zeros::too_late;
}

void TrainStep::finish_gradients() {
  if (norm_.defined() || missing_ || spec_.process.mode == TrainMode::forward_only) return;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    passes_[i].forget_idle(iteration_);
    if (passes_[i].counts()) passes_[i].divide_gradients(exchange_->scalars(i));
  }
  overflow_ = optimizers_->unscale();
  observers_.show(HookEvent::backward, &HookContext::parameters, optimizers_->learned());
  observers_.during(Phase::gradients, [&] { norm_ = optimizers_->clip(); });
}

StepGraphs::Outputs TrainStep::gradients_of(const Slab& slab, const nets::NamedTensors& batch) {
  forget();
  exchange_->begin_batch(iteration_, slab, true, {});
  for (std::size_t i = 0; i < passes_.size(); ++i) run(i, batch, slab.row_count());
  finish_gradients();
  StepGraphs::Outputs outputs{{}, norm_, overflow_, {}};
  for (auto& pass : passes_) outputs.sums.push_back(pass.sums);
  for (const auto& [name, parameter] : optimizers_->learned()) outputs.gradients.push_back(parameter.grad());
  return outputs;
}

void TrainStep::take(std::uint64_t iteration, const StepGraphs::Outputs& outputs) {
  iteration_ = iteration;
  for (std::size_t i = 0; i < passes_.size(); ++i) passes_[i].sums = outputs.sums[i];
  norm_ = outputs.norm;
  overflow_ = outputs.overflow;
}

}  // namespace flowtrain
