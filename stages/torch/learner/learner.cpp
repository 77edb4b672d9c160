#include "stages/torch/learner/learner.h"

#include <ATen/record_function.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "nets/models/net.h"
#include "sampling/core/first_line.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/random.h"
#include "stages/torch/batch.h"
#include "stages/torch/configure_torch.h"
#include "stages/torch/diagnostics/live_bytes.h"
#include "stages/torch/diagnostics/nonfinite_search.h"
#include "stages/torch/diagnostics/peak_memory.h"
#include "stages/torch/diagnostics/step_observers.h"
#include "stages/torch/hooks/built_in.h"
#include "stages/torch/learner/autocast.h"
#include "stages/torch/learner/deferred_steps.h"
#include "stages/torch/learner/learner_net.h"
#include "stages/torch/learner/optimizers.h"
#include "stages/torch/learner/parameter_groups.h"
#include "stages/torch/learner/passes.h"
#include "stages/torch/learner/step_graphs.h"
#include "stages/torch/learner/steps.h"
#include "stages/torch/parallel/step_exchange.h"
#include "stages/torch/readout.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/validation/net_copy.h"
#include "stages/torch/validation/net_validator.h"

namespace flowtrain {

namespace {

class TorchLearner : public Learner {
 public:
  explicit TorchLearner(const LearnerSpec& spec)
      : spec_(spec),
        where_(spec.device),
        mode_(spec.mode),
        seed_(spec.seed),
        group_(*spec.group),
        accum_(static_cast<double>(spec.train.integer("accum"))),
        amp_(amp_type(spec.train)),
        may_discard_(accum_ > 1 || spec.train.text("nonfinite") == "skip" || spec.train.text("on_error") != "stop") {
    configure_torch(spec.run, spec.processes_here);
    net_ = make_learner_net(spec);
    parameters_ = net_->parameters();
    buffers_ = net_->buffers();
    step_ = make_training_step(spec, *net_);
    const SharedOut shared = share_out(parameters_, spec.optims, spec.groups);
    net_->freeze(shared.frozen);
    optimizers_.emplace(spec, shared, parameters_);
    passes_ = make_passes(spec.optims, shared, *step_);
    if (spec.train.boolean("cuda_graph")) keep_rates_on_device();
    validator_.emplace(spec, net_, *step_);
    exchange_ = make_step_exchange(spec, passes_, *net_);
    if (spec.hooks && spec.hook_list) add_hooks(*spec.hooks, *spec.hook_list);
    net_->train(true);
    make_train_batch_ = [this, channels_last = spec.net.boolean("channels_last"),
                         mixing = spec.mixing](const SlabLayout& layout) {
      std::optional<BatchMixer> mixer;
      if (mixing.any()) mixer.emplace(mixing, layout, seed_, static_cast<std::uint32_t>(accum_));
      return std::make_unique<BatchAdapter>(layout, where_, channels_last, std::move(mixer));
    };
    train_batch_ = make_train_batch_(spec.train_layout);
  }

  void set_rates(std::span<const Rates> rates) override {
    optimizers_->set_rates(rates);
    graphs_.set_rates(rates);
  }

  void forward_backward(Slab& slab, const StepFlags& flags) override {
    repeated_ = repeat(slab);
    if (repeated_) return;
    if (slab.ticket().micro == 0) begin_iteration(slab.ticket().iteration);
    add_gradients(slab, flags);
  }

  // In half precision takes the scale off; without train.clip it only measures.
  void finish_gradients() override {
    if (grad_norm_.defined() || gradients_missing_ || mode_ == TrainMode::forward_only) return;
    for (auto& pass : passes_) pass.forget_idle(iteration_);
    overflow_ = optimizers_->unscale();
    observers_.show_parameters(Point::backward, optimizers_->learned());
    observers_.during(Phase::gradients, [&] { grad_norm_ = optimizers_->clip(); });
  }

  StepStats stats() const override {
    if (!stats_) stats_ = read_stats();
    return *stats_;
  }

  bool contribute_zeros(Slab& slab, const StepFlags& flags) override {
    const auto zeros = exchange_->contribute_zeros(iteration_, slab, flags);
    gradients_missing_ = zeros == StepExchange::Zeros::not_needed;
    return zeros != StepExchange::Zeros::too_late;
  }

  void update() override {
    if (mode_ != TrainMode::full) return;
    copier_.before_change();
    if (!stats_) deferred_.add(iteration_, loss_of(passes_), grad_norm_, overflow_);
    observers_.during(Phase::optimizer, [&] {
      if (repeated_)
        graphs_.repeat_update();
      else
        optimizers_->apply(passes_, iteration_, overflow_);
      optimizers_->average(iteration_);
    });
    if (observers_.look(Point::step) && !(overflow_.defined() && overflow_.item<float>() > 0))
      observers_.show_parameters(Point::step, optimizers_->learned());
  }

  void discard() override {
    optimizers_->forget_gradients();
    const torch::NoGradGuard no_gradients;
    auto to = buffers_.begin();
    for (auto& kept : kept_buffers_) (to++)->second.copy_(kept);
  }

  bool stats_are_free() const override { return where_.is_cpu(); }

  NetFigures figures() const override {
    NetFigures figures;
    for (auto& [name, tensor] : parameters_)
      figures.parameters.push_back({name, tensor.sizes().vec(), static_cast<std::uint64_t>(tensor.numel()),
                                    tensor.nbytes(), optimizers_->owner(name)});
    for (auto& [name, tensor] : buffers_) figures.buffer_bytes += tensor.nbytes();
    for (auto& [name, tensor] : optimizers_->state()) figures.optimizer_bytes += tensor.nbytes();
    return figures;
  }

  MemoryProbe* memory_probe() override { return &memory_probe_; }
  NonFiniteSearch* nonfinite_search() override { return &nonfinite_search_; }

  void begin_validation() override {
    exchange_->share("the sharing of running statistics", buffers_);
    torch::manual_seed(Stream(seed_, Purpose::net, 0).next64() ^ mix64(static_cast<std::uint64_t>(group_.rank())));
    use_average();
    net_->train(false);
    validating_ = true;
    validator_->begin();
  }

  Detector* detector() override { return validator_->detector(); }

  void validate(Slab& slab) override { validator_->add(slab); }

  Figures end_validation() override {
    leave_validation();
    return validator_->end(group_);
  }

  void leave_validation() override {
    if (!std::exchange(validating_, false)) return;
    use_average();
    net_->train(true);
  }

  const ClassTable* confusion() const override { return validator_->confusion(); }

  std::unique_ptr<NetCopy> copy_net() override {
    nets::NamedTensors seen = optimizers_->validated(parameters_);
    for (auto& [name, tensor] : buffers_) seen.add(name, tensor);
    return make_net_copy(spec_, seen);
  }

  void copy_state(LearnerState& state) override { copier_.copy(parameters_, buffers_, optimizers_->state(), state); }

  void load_state(const LearnerState& state) override {
    nets::NamedTensors model;
    for (auto& [name, tensor] : parameters_) model.set(name, tensor);
    for (auto& [name, tensor] : buffers_) model.set(name, tensor);
    copier_.before_change();
    copy_in(state.model, model, "model");
    optimizers_->load(state.optim);
  }

  void set_threads(unsigned threads) override { torch::set_num_threads(static_cast<int>(threads)); }

  void share_state() override {
    exchange_->share("the sharing of parameters", parameters_);
    exchange_->share("the sharing of buffers", buffers_);
    exchange_->share("the sharing of the optimizers' state", optimizers_->state());
  }

 private:
  // From the first step on, so that the steps before a capture, which a resumed run makes again, round the rate as the
  // captured ones do.
  void keep_rates_on_device() try { optimizers_->keep_rates_on_device(); } catch (const std::runtime_error& error) {
    graphs_.leave_because(first_line(error.what()));
  }

  // What the net draws (dropout) is keyed by step and rank, so that it needs no state in snapshots.
  void seed_draws(const Ticket& ticket) {
    const std::uint64_t step = Stream(seed_, Purpose::net, ticket.iteration << 16 | ticket.micro).next64();
    torch::manual_seed(step ^ mix64(static_cast<std::uint64_t>(group_.rank())));
  }

  // Of a micro-batch, to those of the iteration's others.
  void add_gradients(Slab& slab, const StepFlags& flags) {
    const Ticket& ticket = slab.ticket();
    exchange_->begin_batch(iteration_, slab, ticket.micro + 1 == accum_, flags);
    seed_draws(ticket);
    nets::NamedTensors batch;
    observers_.during(Phase::transfer, [&] { batch = (*train_batch_)(slab); });
    observers_.show_batch(slab, batch);
    for (std::size_t i = 0; i < passes_.size(); ++i)
      if (passes_[i].due(iteration_)) run(i, batch);
    if (slab.owner().copies()) slab.owner().consumed(ticket.slot);
  }

  // A whole iteration by the graphs of train.cuda_graph. False: it is to be made as ever.
  bool repeat(Slab& slab) {
    if (!graphs_.wanted()) return false;
    const nets::NamedTensors batch = (*train_batch_)(slab);
    if (!graphs_.takes(batch, step_for_graphs(slab))) return false;
    forget_stats();
    iteration_ = slab.ticket().iteration;
    keep_buffers();
    const StepGraphs::Outputs& outputs = graphs_.outputs();
    for (std::size_t i = 0; i < passes_.size(); ++i) passes_[i].sums = outputs.sums[i];
    grad_norm_ = outputs.norm;
    overflow_ = outputs.overflow;
    seed_draws(slab.ticket());
    graphs_.repeat_gradients(batch);
    if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
    return true;
  }

  StepGraphs::Step step_for_graphs(Slab& slab) {
    const auto gradients = [this, &slab](const nets::NamedTensors& batch) {
      forget_step();
      exchange_->begin_batch(iteration_, slab, true, {});
      for (std::size_t i = 0; i < passes_.size(); ++i) run(i, batch);
      finish_gradients();
      StepGraphs::Outputs outputs{{}, grad_norm_, overflow_, {}};
      for (auto& pass : passes_) outputs.sums.push_back(pass.sums);
      for (const auto& [name, parameter] : optimizers_->learned()) outputs.gradients.push_back(parameter.grad());
      return outputs;
    };
    const auto update = [this] { optimizers_->apply(passes_, iteration_, overflow_); };
    return {gradients, update};
  }

  // A second micro-batch finds the gradients of the first in its way.
  void try_step(Slab& slab) {
    begin_iteration(0);  // in which all optimizers are at work
    for (int micro = 0; micro < std::min(accum_, 2.); ++micro) add_gradients(slab, {});
    finish_gradients();
    stats();
    update();
  }

  // Forward and backward of a micro-batch.
  void run(std::size_t number, const nets::NamedTensors& batch) {
    Pass& pass = passes_[number];
    exchange_->begin(number);
    nets::NamedTensors losses;
    observers_.during(Phase::forward, [&] { losses = forward(pass, batch); });
    observers_.show_losses(losses);
    const at::Tensor lowered = pass.lowered(losses);
    const double parts = exchange_->divisor();
    const auto part = optimizers_->scaled(parts == 1 ? lowered : lowered / parts);
    const auto figures = pass.figures_of(lowered, losses) / parts;
    observers_.during(Phase::backward, [&] { exchange_->backward(number, part, figures); });
    pass.sums = pass.sums.defined() ? pass.sums + figures : figures;
  }

  nets::NamedTensors forward(const Pass& pass, const nets::NamedTensors& batch) {
    const Autocast cast(amp_, where_.type());
    return (*step_)(batch, pass.losses);
  }

  // Before a validation and after it.
  void use_average() {
    if (!optimizers_->validates_average()) return;
    copier_.before_change();
    optimizers_->swap_average();
  }

  // What was read is known; what was not is kept for the next time.
  void forget_stats() {
    if (!stats_) return;
    deferred_.forget();
    optimizers_->forget_cuts();
    stats_.reset();
  }

  StepStats read_stats() const {
    Readout read;
    const auto flags = read.ask(exchange_->flags());
    std::vector<std::size_t> reports;
    for (std::size_t i = 0; i < passes_.size(); ++i) reports.push_back(read.ask(exchange_->figures(i)));
    const auto norm = read.ask(grad_norm_), overflow = read.ask(overflow_);
    const auto scale = read.ask(overflow_.defined() ? optimizers_->loss_scale() : at::Tensor());
    const auto cuts = read.ask(optimizers_->cuts()), deferred = read.ask(deferred_.kept());
    read.fetch();
    StepStats stats = exchange_->stats(read[flags]);
    if (stats.exposed_s > 0 && spec_.profile) spec_.profile->waited_for_others(stats.exposed_s);
    for (std::size_t i = 0; i < passes_.size(); ++i) passes_[i].report(read[reports[i]], stats);
    if (grad_norm_.defined()) stats.grad_norm = read.one(norm);
    if (overflow_.defined()) {
      stats.overflow = read.one(overflow) > 0;
      stats.parts.emplace_back("loss_scale", read.one(scale));
    }
    if (optimizers_->cuts().defined()) stats.clipped = read.one(cuts);
    stats.deferred = deferred_.summary(read[deferred]);
    return stats;
  }

  void begin_iteration(std::uint64_t iteration) {
    forget_stats();
    iteration_ = iteration;
    observers_.begin_iteration(parameters_);
    keep_buffers();
    forget_step();
  }

  // For discard().
  void keep_buffers() {
    kept_buffers_.clear();
    copier_.before_buffers_change();
    if (!may_discard_) return;
    for (auto& [name, buffer] : buffers_) kept_buffers_.push_back(buffer.clone());
  }

  void forget_step() {
    gradients_missing_ = false;
    optimizers_->forget_gradients();
    for (auto& pass : passes_) pass.sums = torch::Tensor();
    grad_norm_ = torch::Tensor();
  }

  // A row without its batch: without dropout, and with running statistics in place of the batch's, as of before the
  // step.
  bool fails_alone(const nets::NamedTensors& row, std::int64_t rows, bool in_loss) {
    discard();
    net_->train(false);
    nets::NamedTensors made;
    for (auto& pass : passes_) {
      if (!pass.due(iteration_)) continue;
      const auto lowered = optimizers_->scaled(pass.lowered(forward(pass, row)) / (accum_ * static_cast<double>(rows)));
      pass.backward(lowered, iteration_, passes_.size() == 1);
      made.add("loss", lowered);
    }
    net_->train(true);
    for (const auto& [name, parameter] : optimizers_->learned())
      if (!in_loss && parameter.grad().defined()) made.add(name, parameter.grad());
    return find_in(made, "", 0).has_value();
  }

  class Probe : public MemoryProbe {
   public:
    explicit Probe(TorchLearner& learner) : learner_(learner) {}
    std::optional<std::uint64_t> free_bytes() override { return PeakMemory::free_bytes(learner_.where_); }
    std::optional<std::uint64_t> step_bytes(Slab& slab) override { return learner_.step_bytes(slab); }
    std::uint64_t kept_bytes(Slab& slab) override { return learner_.kept_bytes(slab); }

   private:
    TorchLearner& learner_;
  };

  class Search : public NonFiniteSearch {
   public:
    explicit Search(TorchLearner& learner) : learner_(learner) {}
    std::optional<NonFiniteOrigin> find(Slab& slab, bool in_loss) override {
      return learner_.find_nonfinite(slab, in_loss);
    }

   private:
    TorchLearner& learner_;
  };

  std::optional<std::uint64_t> step_bytes(Slab& slab) {
    optimizers_->forget_gradients();
    auto usual = std::move(train_batch_);
    const auto bytes = PeakMemory(where_).of([&] {
      train_batch_ = make_train_batch_(slab.layout());
      try_step(slab);
    });
    train_batch_ = std::move(usual);
    return bytes;
  }

  std::uint64_t kept_bytes(Slab& slab) {
    const auto batch = (*train_batch_)(slab);
    std::int64_t most = 0;
    for (auto& pass : passes_) {
      const LiveBytes live;
      const Autocast cast(amp_, where_.type());
      const auto losses = (*step_)(batch, pass.losses);
      most = std::max(most, live.now());
    }
    return static_cast<std::uint64_t>(most);
  }

  std::optional<NonFiniteOrigin> find_nonfinite(Slab& slab, bool in_loss) {
    const auto rows = static_cast<std::int64_t>(slab.rows().size());
    graphs_.leave();  // each operation is to be seen
    if (slab.ticket().micro == 0)
      if (auto found = find_in(parameters_, "parameters", 0)) return found;
    const auto batch = copies((*train_batch_)(slab));
    if (auto found = find_in(batch, "batch", rows)) return found;
    const nets::OpWatch watch(parameters_, in_loss);
    forward_backward(slab, {});
    if (!in_loss && slab.ticket().micro + 1 == accum_) {
      RECORD_USER_SCOPE("norm");
      finish_gradients();
    }
    if (!watch.first()) return {};
    NonFiniteOrigin origin = origin_of(*watch.first(), parameters_, rows);
    if (origin.phase != "norm")
      blame_rows(
          batch, rows, [&](const auto& row) { return fails_alone(row, rows, in_loss); }, origin);
    return origin;
  }

  const LearnerSpec spec_;
  at::Device where_;
  StateCopier copier_{where_};
  TrainMode mode_;
  std::uint64_t seed_;
  Group& group_;
  double accum_;
  std::optional<at::ScalarType> amp_;
  bool may_discard_;
  std::shared_ptr<nets::Net> net_;
  nets::NamedTensors parameters_, buffers_;
  std::vector<at::Tensor> kept_buffers_;  // as they were before the iteration
  std::unique_ptr<nets::Step> step_;
  std::optional<Optimizers> optimizers_;
  std::vector<Pass> passes_;
  std::unique_ptr<StepExchange> exchange_;  // of the passes
  StepGraphs graphs_{spec_};
  bool repeated_ = false;  // the iteration under way, by them
  StepObservers observers_{spec_};
  bool validating_ = false;
  std::optional<NetValidator> validator_;
  std::function<std::unique_ptr<BatchAdapter>(const SlabLayout&)> make_train_batch_;
  std::unique_ptr<BatchAdapter> train_batch_;
  std::uint64_t iteration_ = 0;      // under way
  at::Tensor grad_norm_, overflow_;  // of it
  bool gradients_missing_ = false;   // of it: an error kept this process, which trains alone, from computing them
  mutable std::optional<StepStats> stats_;  // of it, once they were read
  DeferredSteps deferred_;
  Probe memory_probe_{*this};
  Search nonfinite_search_{*this};
};

}  // namespace

// Here, and not where the program ends, as what the start has made until now is still to be undone.
std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec) try {
  return std::make_unique<TorchLearner>(spec);
} catch (const c10::Error& error) {
  if (!ran_out_of_memory(error)) throw;
  throw OutOfMemory("out of memory: " + first_line(error.what_without_backtrace()));
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace flowtrain
