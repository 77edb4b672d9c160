#include "stages/torch/learner.h"

#include <ATen/record_function.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "nets/ema.h"
#include "nets/gradient_sum.h"
#include "nets/loss.h"
#include "nets/net.h"
#include "nets/optimizer.h"
#include "nets/scaler.h"
#include "sampling/first_line.h"
#include "sampling/random.h"
#include "sampling/warning.h"
#include "stages/hooks.h"
#include "stages/torch/autocast.h"
#include "stages/torch/batch.h"
#include "stages/torch/clipping.h"
#include "stages/torch/data_parallel.h"
#include "stages/torch/learner_net.h"
#include "stages/torch/live_bytes.h"
#include "stages/torch/net_copy.h"
#include "stages/torch/net_validator.h"
#include "stages/torch/hooks/built_in.h"
#include "stages/torch/nonfinite_search.h"
#include "stages/torch/op_times.h"
#include "stages/torch/parameter_groups.h"
#include "stages/torch/passes.h"
#include "stages/torch/peak_memory.h"
#include "stages/torch/plugin.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step_graphs.h"
#include "stages/torch/steps.h"
#include "stages/torch/unread_steps.h"

namespace flowtrain {

namespace {

nets::OptimizerSpec optimizer_spec(const Settings& optim) {
  nets::OptimizerSpec spec;
  spec.name = optim.text("name");
  spec.lr = optim.real("lr");
  spec.momentum = optim.real("momentum");
  spec.nesterov = optim.boolean("nesterov");
  spec.weight_decay = optim.real("weight_decay");
  spec.beta1 = optim.reals("betas").at(0);
  spec.beta2 = optim.reals("betas").at(1);
  spec.eps = optim.real("eps");
  return spec;
}

std::unique_ptr<nets::Optimizer> make_optimizer(const Settings& optim, const std::vector<nets::ParameterGroup>& groups) {
  if (!optim.text("plugin").empty())
    return made_from(optim, "plugin", [&] { return Plugin(optim, PluginKind::optimizer).optimizer(groups); });
  return made_from(optim, "name", [&] { return nets::make_optimizer(optimizer_spec(optim), groups); });
}

std::optional<nets::GradientSum> gradient_sum(const Settings& optim, const std::vector<nets::ParameterGroup>& groups) {
  if (optim.integer("accum") == 1) return {};
  nets::NamedTensors parameters;
  for (auto& group : groups)
    for (const auto& [name, parameter] : group.parameters) parameters.add(name, parameter);
  return nets::GradientSum(parameters, static_cast<double>(optim.integer("accum")));
}

DataParallelOptions parallel_options(const Settings& dist) {
  DataParallelOptions options;
  options.bucket_mb = dist.real("bucket_mb");
  options.first_bucket_mb = dist.real("first_bucket_mb");
  options.find_unused = dist.boolean("find_unused");
  options.static_graph = dist.boolean("static_graph");
  if (const auto wire = dist.text("compress"); wire != "none") options.wire = wire == "fp16" ? at::kHalf : at::kBFloat16;
  return options;
}

class TorchLearner : public Learner {
 public:
  explicit TorchLearner(const LearnerSpec& spec)
      : spec_(spec), where_(spec.device), mode_(spec.mode), seed_(spec.seed), profile_(spec.profile), group_(*spec.group),
        hooks_(spec.hooks ? *spec.hooks : no_hooks_), accum_(static_cast<double>(spec.train.integer("accum"))), amp_(amp_type(spec.train)),
        may_discard_(accum_ > 1 || spec.train.text("nonfinite") == "skip" || spec.train.text("on_error") != "stop") {
    configure_torch(spec.run, spec.processes_here);
    net_ = make_learner_net(spec);
    parameters_ = net_->parameters();
    buffers_ = net_->buffers();
    step_ = make_training_step(spec, *net_);
    make_optimizers(spec);
    if (amp_ == at::kHalf) scaler_.emplace(where_);
    if (spec.ema && spec.ema->real("decay") > 0) {
      ema_.emplace(learned_, spec.ema->real("decay"), spec.ema->boolean("warmup"));
      ema_validates_ = spec.ema->boolean("validate");
    }
    validator_.emplace(spec, net_, *step_);
    if (auto* group = dynamic_cast<TorchGroup*>(spec.group)) train_together(spec, *group);
    if (spec.hooks && spec.hook_list) add_hooks(hooks_, *spec.hook_list);
    net_->train(true);
    make_train_batch_ = [this, channels_last = spec.net.boolean("channels_last"), mixing = spec.mixing](const SlabLayout& layout) {
      std::optional<BatchMixer> mixer;
      if (mixing.any()) mixer.emplace(mixing, layout, seed_, static_cast<std::uint32_t>(accum_));
      return std::make_unique<BatchAdapter>(layout, where_, channels_last, std::move(mixer));
    };
    train_batch_ = make_train_batch_(spec.train_layout);
    if (spec.train.boolean("cuda_graph")) graphs_.emplace(spec.graphs || where_.is_cpu() ? spec.graphs : cuda_work_graphs());
  }

  void set_rates(std::span<const Rates> rates) override {
    for (std::size_t i = 0; i < optimizers_.size(); ++i)
      optimizers_[i]->set_rates(rates[i].lr, rates[i].momentum, rates[i].weight_decay);
    // The learning rate alone is read from the device.
    const auto same = [](const Rates& a, const Rates& b) { return a.momentum == b.momentum && a.weight_decay == b.weight_decay; };
    if (graphs_ && !std::ranges::equal(rates, rates_, same)) graphs_->forget();
    rates_.assign(rates.begin(), rates.end());
  }

  void backward(Slab& slab) override {
    repeated_ = graphs_ && repeat(slab);
    if (repeated_) return;
    if (slab.ticket().micro == 0) begin_iteration(slab.ticket().iteration);
    add_gradients(slab);
  }

  StepResult result() override {
    if (mode_ != TrainMode::forward_only) finish_gradients();
    StepResult done;
    if (votes_with_) done = votes_with_->parallel->result();
    if (votes_with_ && profile_) profile_->waited_for_others(done.exposed_s);
    for (auto& pass : passes_) {
      const bool due = pass.sums.defined();
      const at::Tensor sums = !due ? at::Tensor() : pass.parallel ? pass.parallel->figures() : pass.sums.to(at::kCPU);
      const float* figure = due ? sums.const_data_ptr<float>() : nullptr;
      if (due) done.loss += *figure++;
      for (auto& name : pass.figures) done.parts.emplace_back(pass.shown(name), due ? *figure++ : std::nan(""));
    }
    if (grad_norm_.defined()) done.grad_norm = grad_norm_.item<double>();
    if (overflow_.defined()) {
      done.overflow = overflow_.item<float>() > 0;
      done.parts.emplace_back("loss_scale", scaler_->scale());
    }
    done.clipped = clipping_->take_cuts();
    done.unread = unread_.take();
    read_ = true;
    return done;
  }

  void vote(const Votes& votes) override { votes_ = votes; }

  bool stand_by(Slab& slab) override {
    if (exchanging_) return false;
    for (std::size_t i = slab.ticket().seq == tried_ ? exchanged_ : 0; i < passes_.size(); ++i) {
      Pass& pass = passes_[i];
      if (!pass.due(iteration_)) continue;
      pass.parallel->stand_by(slab.share(), &pass == votes_with_ ? votes_ : Votes{});
      pass.sums = torch::zeros({static_cast<std::int64_t>(1 + pass.figures.size())});
    }
    return true;
  }

  void update() override {
    if (mode_ != TrainMode::full) return;
    copier_.before_change();
    finish_gradients();
    if (!std::exchange(read_, false)) remember_step();
    during(Phase::optimizer, [&] {
      if (repeated_) graphs_->repeat_update();
      else apply_gradients();
      if (ema_) ema_->update(iteration_);
    });
    if (hooks_.wants(Point::step) && !(overflow_.defined() && overflow_.item<float>() > 0)) show(Point::step, hooks_.moment().parameters, learned_);
  }

  void discard() override {
    read_ = false;
    forget_gradients();
    const torch::NoGradGuard no_gradients;
    auto to = buffers_.begin();
    for (auto& kept : kept_buffers_) (to++)->second.copy_(kept);
  }

  std::optional<NonFiniteOrigin> find_nonfinite(Slab& slab, bool in_loss) override {
    const auto rows = static_cast<std::int64_t>(slab.rows().size());
    graphs_.reset();  // each operation is to be seen
    if (slab.ticket().micro == 0)
      if (auto found = find_in(parameters_, "parameters", 0)) return found;
    const auto batch = copies((*train_batch_)(slab));
    if (auto found = find_in(batch, "batch", rows)) return found;
    const nets::OpWatch watch(parameters_, in_loss);
    backward(slab);
    if (!in_loss && slab.ticket().micro + 1 == accum_) {
      RECORD_USER_SCOPE("norm");
      finish_gradients();
    }
    if (!watch.first()) return {};
    NonFiniteOrigin origin = origin_of(*watch.first(), parameters_, rows);
    if (origin.phase != "norm") blame_rows(batch, rows, [&](const auto& row) { return fails_alone(row, rows, in_loss); }, origin);
    return origin;
  }

  bool result_is_cheap() const override { return where_.is_cpu(); }

  NetFigures figures() const override {
    NetFigures figures;
    for (auto& [name, tensor] : parameters_) {
      const auto owner = owners_.find(name);
      figures.parameters.push_back({name, tensor.sizes().vec(), static_cast<std::uint64_t>(tensor.numel()), tensor.nbytes(),
                                    owner == owners_.end() ? -1 : owner->second});
    }
    for (auto& [name, tensor] : buffers_) figures.buffer_bytes += tensor.nbytes();
    for (auto& [name, tensor] : training_state()) figures.optimizer_bytes += tensor.nbytes();
    return figures;
  }

  std::uint64_t kept_bytes(Slab& slab) override {
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

  std::optional<std::uint64_t> free_bytes() override { return PeakMemory::free_bytes(where_); }

  std::optional<std::uint64_t> step_bytes(Slab& slab) override {
    forget_gradients();
    auto usual = std::move(train_batch_);
    const auto bytes = PeakMemory(where_).of([&] {
      train_batch_ = make_train_batch_(slab.layout());
      try_step(slab);
    });
    train_batch_ = std::move(usual);
    return bytes;
  }

  void begin_validation() override {
    if (votes_with_) votes_with_->parallel->share_buffers();
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
    const nets::NamedTensors averages = ema_ && ema_validates_ ? ema_->state() : nets::NamedTensors();
    nets::NamedTensors seen;
    for (auto& [name, tensor] : parameters_) seen.add(name, averages.contains("ema." + name) ? averages.at("ema." + name) : tensor);
    for (auto& [name, tensor] : buffers_) seen.add(name, tensor);
    return make_net_copy(spec_, seen);
  }

  void copy_state(LearnerState& state) override {
    copier_.copy(parameters_, buffers_, training_state(), state);
  }

  void load_state(const LearnerState& state) override {
    nets::NamedTensors model;
    for (auto& [name, tensor] : parameters_) model.set(name, tensor);
    for (auto& [name, tensor] : buffers_) model.set(name, tensor);
    copier_.before_change();
    copy_in(state.model, model, "model");
    const bool has_scale = std::any_of(state.optim.begin(), state.optim.end(), [](auto& tensor) { return tensor.name.starts_with("scaler."); });
    if (!state.optim.empty()) copy_in(state.optim, training_state(has_scale), "optimizer");
    else if (ema_) ema_->restart();
  }

  void set_threads(unsigned threads) override { torch::set_num_threads(static_cast<int>(threads)); }

  void share_state() override {
    if (!votes_with_) return;
    votes_with_->parallel->share(parameters_);
    votes_with_->parallel->share(buffers_);
    votes_with_->parallel->share(training_state());
  }

 private:
  void configure_torch(const Settings& run, unsigned processes_here) {
    auto threads = static_cast<int>(run.integer("threads"));
    if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / processes_here));
    torch::set_num_threads(threads);
    const bool deterministic = run.boolean("deterministic");
    at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
    // What kernels leave unwritten is no result of theirs; to fill new memory first costs a CPU 3 % of a step.
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    at::globalContext().setDeterministicCuDNN(deterministic);
    const std::string& cudnn = run.text("cudnn");
    at::globalContext().setUserEnabledCuDNN(cudnn != "off");
    at::globalContext().setBenchmarkCuDNN(cudnn == "auto" && !deterministic);
  }

  void make_optimizers(const LearnerSpec& spec) {
    const SharedOut shared = share_out(parameters_, spec.optims, spec.groups);
    net_->freeze(shared.frozen);
    for (const auto& [name, parameter] : parameters_)
      if (!shared.frozen.contains(name)) learned_.add(name, parameter);
    for (std::size_t i = 0; i < spec.optims.size(); ++i) {
      for (auto& group : shared.optimizers[i])
        for (const auto& [name, parameter] : group.parameters) owners_.emplace(name, static_cast<int>(i));
      optimizers_.push_back(make_optimizer(spec.optims[i], shared.optimizers[i]));
      sums_.push_back(gradient_sum(spec.optims[i], shared.optimizers[i]));
    }
    passes_ = make_passes(spec.optims, shared, *step_);
    clipping_.emplace(spec, shared);
  }

  // Alone in its job a process has nothing to average, and is spared the copies into buckets.
  void train_together(const LearnerSpec& spec, TorchGroup& group) {
    if (group.size() == 1) return;
    auto options = parallel_options(*spec.dist);
    options.only_own = passes_.size() > 1;
    for (auto& pass : passes_) {
      pass.parallel = std::make_unique<DataParallel>(group, pass.parameters, buffers_, static_cast<std::int64_t>(1 + pass.figures.size()), options);
      if (!votes_with_ && pass.every == 1) votes_with_ = &pass;
    }
    if (spec.dist->boolean("sync_batch_norm"))
      made_from(*spec.dist, "sync_batch_norm",
                [&] { return net_->span_batch_norm([&group](at::Tensor& values) { group.sum(values); }); });
  }

  // What a device has been asked for by then is part of the phase, where somebody wants to know how long that takes.
  template <class Body>
  void during(Phase phase, Body body) {
    const Profile::At now(profile_, phase);
    body();
    if (profile_) settle(where_);
  }

  // What the net draws (dropout) is keyed by step and rank, so that it needs no state in snapshots.
  void seed_draws(const Ticket& ticket) {
    const std::uint64_t step = Stream(seed_, Purpose::net, ticket.iteration << 16 | ticket.micro).next64();
    torch::manual_seed(step ^ mix64(static_cast<std::uint64_t>(group_.rank())));
  }

  // Of a micro-batch, to those of the iteration's others.
  void add_gradients(Slab& slab) {
    exchanged_ = 0;
    tried_ = slab.ticket().seq;
    const Ticket& ticket = slab.ticket();
    seed_draws(ticket);
    nets::NamedTensors batch;
    during(Phase::transfer, [&] { batch = (*train_batch_)(slab); });
    show_rows(slab);
    show(Point::batch, hooks_.moment().batch, batch);
    for (auto& pass : passes_) {
      if (pass.due(iteration_)) run(pass, batch, slab);
      ++exchanged_;
    }
    if (slab.owner().copies()) slab.owner().consumed(ticket.slot);
  }

  // Nobody waits for it.
  void remember_step() {
    at::Tensor loss;
    for (auto& pass : passes_)
      if (pass.sums.defined()) loss = loss.defined() ? loss + pass.sums[0] : pass.sums[0];
    unread_.add(iteration_, loss, grad_norm_, overflow_);
  }

  void apply_gradients() {
    for (auto& pass : passes_)
      if (pass.due(iteration_))
        for (const auto i : pass.optimizers) step(i, iteration_ / pass.every);
    if (scaler_) scaler_->update();
  }

  // `turn`: iterations that the optimizer has been at work in, this one included.
  void step(std::size_t i, std::uint64_t turn) {
    if (!sums_[i]) return optimizers_[i]->step(overflow_);
    sums_[i]->add(overflow_);
    if (turn % static_cast<std::uint64_t>(spec_.optims[i].integer("accum")) != 0) return;
    sums_[i]->hand_out();
    optimizers_[i]->step();
  }

  // Why a step cannot be captured; empty: it may be tried.
  std::string uncapturable() const {
    const auto looks = [this](Point point) { return hooks_.wants(point); };
    if (!graphs_->available()) return where_.is_cpu() ? "the net computes on the CPU" : "this build has no CUDA graphs";
    if (mode_ != TrainMode::full) return "there is no update";
    if (accum_ > 1) return "train.accum is more than 1";
    if (group_.size() > 1) return "several processes train";
    if (spec_.profile) return "--profile looks into the step";
    if (spec_.mixing.any()) return "[mix] draws numbers for each batch";
    if (std::ranges::any_of(passes_, [](auto& pass) { return pass.every > 1; })) return "optimizers take turns ([[optim]] every)";
    if (std::ranges::any_of(sums_, [](auto& sum) { return sum.has_value(); })) return "gradients of several iterations make one update ([[optim]] accum)";
    if (std::ranges::any_of(std::array{Point::batch, Point::loss, Point::backward, Point::step}, looks)) return "a hook looks into the step";
    return {};
  }

  void leave_graphs(const std::string& reason) {
    if (group_.leads()) warn("train.cuda_graph: steps are made as without it: " + reason);
    graphs_.reset();
  }

  // A whole iteration by the graphs of train.cuda_graph. False: it is to be made as ever.
  bool repeat(Slab& slab) {
    if (!graphs_->captured())
      if (const auto reason = uncapturable(); !reason.empty()) return leave_graphs(reason), false;
    if (graphs_->warms_up()) return false;
    if (graphs_->too_often()) return leave_graphs("momentum or weight decay changes again and again"), false;
    const nets::NamedTensors batch = (*train_batch_)(slab);
    if (!graphs_->captured()) try {
        capture(batch, slab);
      } catch (const std::exception& error) {
        return leave_graphs(first_line(error.what())), false;
      }
    if (!graphs_->takes(batch)) return false;
    iteration_ = slab.ticket().iteration;
    keep_buffers();
    for (std::size_t i = 0; i < passes_.size(); ++i) passes_[i].sums = captured_.sums[i];
    grad_norm_ = captured_.norm;
    overflow_ = captured_.overflow;
    seed_draws(slab.ticket());
    graphs_->repeat_gradients(batch);
    if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
    return true;
  }

  void capture(const nets::NamedTensors& batch, Slab& slab) {
    for (auto& optimizer : optimizers_) optimizer->keep_rate_on_device();
    const auto gradients = [&](const nets::NamedTensors& own) {
      forget_step();
      for (auto& pass : passes_) run(pass, own, slab);
      finish_gradients();
    };
    graphs_->capture(batch, gradients, [this] { apply_gradients(); });
    captured_ = {{}, {}, grad_norm_, overflow_};
    for (auto& pass : passes_) captured_.sums.push_back(pass.sums);
    for (const auto& [name, parameter] : learned_) captured_.gradients.push_back(parameter.grad());
  }

  // Of loader.batch = "auto". A second micro-batch finds the gradients of the first in its way.
  void try_step(Slab& slab) {
    begin_iteration(0);  // in which all optimizers are at work
    for (int micro = 0; micro < std::min(accum_, 2.); ++micro) add_gradients(slab);
    result();
    update();
  }

  // Forward and backward of a micro-batch.
  void run(Pass& pass, const nets::NamedTensors& batch, Slab& slab) {
    const Ticket& ticket = slab.ticket();
    if (pass.parallel) pass.parallel->begin(ticket.micro == 0, ticket.micro + 1 == accum_);
    nets::NamedTensors losses;
    during(Phase::forward, [&] { losses = forward(pass, batch); });
    show(Point::loss, hooks_.moment().losses, losses);
    const at::Tensor lowered = pass.lowered(losses);
    auto part = accum_ == 1 ? lowered : lowered / accum_;
    if (scaler_) part = scaler_->scaled(part);
    const auto figures = pass.figures_of(lowered, losses) / accum_;
    during(Phase::backward, [&] {
      exchanging_ = pass.parallel && ticket.micro + 1 == accum_;
      if (pass.parallel) pass.parallel->backward(part, figures, slab.share(), &pass == votes_with_ ? votes_ : Votes{});
      else if (mode_ != TrainMode::forward_only) backward_of(pass, part);
    });
    exchanging_ = false;
    pass.sums = pass.sums.defined() ? pass.sums + figures : figures;
  }

  void backward_of(const Pass& pass, const at::Tensor& lowered) {
    if (passes_.size() == 1) return lowered.backward();
    std::vector<at::Tensor> own;
    for (const auto& [name, parameter] : pass.parameters) own.push_back(parameter);
    lowered.backward({}, std::nullopt, false, own);
  }

  nets::NamedTensors forward(const Pass& pass, const nets::NamedTensors& batch) {
    const Autocast cast(amp_, where_.type());
    return (*step_)(batch, pass.losses);
  }

  void show_rows(const Slab& slab) {
    if (!hooks_.wants(Point::batch) && !hooks_.wants(Point::loss)) return;
    ids_.clear();
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    hooks_.moment().samples = ids_;
  }

  // Calls the hooks of a point that have `tensors` to look at.
  template <class Seen, class Tensors>
  void show(Point point, Seen*& seen, Tensors& tensors) {
    if (!hooks_.wants(point)) return;
    seen = &tensors;
    hooks_.call(point);
    seen = nullptr;
  }

  void forget_gradients() {
    for (auto& optimizer : optimizers_) optimizer->zero_grad();
  }

  // Of the optimizers and what goes with them. They share no parameter, so no two tensors have one name.
  nets::NamedTensors training_state(bool with_scale = true) const {
    nets::NamedTensors all;
    const auto add = [&all](const nets::NamedTensors& tensors) {
      for (const auto& [name, tensor] : tensors) all.add(name, tensor);
    };
    for (auto& optimizer : optimizers_) add(optimizer->state());
    for (auto& sum : sums_)
      if (sum) add(sum->state());
    if (ema_) add(ema_->state());
    if (scaler_ && with_scale) add(scaler_->state());
    return all;
  }

  // Before a validation and after it.
  void use_average() {
    if (!ema_ || !ema_validates_) return;
    copier_.before_change();
    ema_->swap();
  }

  void begin_iteration(std::uint64_t iteration) {
    iteration_ = iteration;
    if (profile_ && profile_->recording() != (op_times_ != nullptr))
      op_times_ = profile_->recording() ? std::make_unique<OpTimes>(*profile_, parameters_, where_) : nullptr;
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
    forget_gradients();
    for (auto& pass : passes_) pass.sums = torch::Tensor();
    grad_norm_ = torch::Tensor();
  }

  // Once per iteration: in half precision takes the scale off; without train.clip it only measures.
  void finish_gradients() {
    if (grad_norm_.defined()) return;
    if (scaler_) overflow_ = scaler_->unscale(learned_);
    show(Point::backward, hooks_.moment().parameters, learned_);
    during(Phase::gradients, [&] { grad_norm_ = clipping_->clip(); });
  }

  // A row without its batch: without dropout, and with running statistics in place of the batch's, as of before the step.
  bool fails_alone(const nets::NamedTensors& row, std::int64_t rows, bool in_loss) {
    discard();
    net_->train(false);
    nets::NamedTensors made;
    for (auto& pass : passes_) {
      if (!pass.due(iteration_)) continue;
      auto lowered = pass.lowered(forward(pass, row)) / (accum_ * static_cast<double>(rows));
      if (scaler_) lowered = scaler_->scaled(lowered);
      backward_of(pass, lowered);
      made.add("loss", lowered);
    }
    net_->train(true);
    for (const auto& [name, parameter] : learned_)
      if (!in_loss && parameter.grad().defined()) made.add(name, parameter.grad());
    return find_in(made, "", 0).has_value();
  }

  const LearnerSpec spec_;
  at::Device where_;
  StateCopier copier_{where_};
  TrainMode mode_;
  std::uint64_t seed_;
  Profile* profile_;
  Group& group_;
  Hooks no_hooks_;
  Hooks& hooks_;
  double accum_;
  std::optional<at::ScalarType> amp_;
  bool may_discard_;
  std::shared_ptr<nets::Net> net_;
  nets::NamedTensors parameters_, buffers_;
  nets::NamedTensors learned_;  // parameters that are not frozen
  std::map<std::string, int> owners_;  // their optimizers, by their names
  std::vector<at::Tensor> kept_buffers_;  // as they were before the iteration
  std::unique_ptr<nets::Step> step_;
  std::vector<std::unique_ptr<nets::Optimizer>> optimizers_;
  std::vector<std::optional<nets::GradientSum>> sums_;  // of optimizers with accum > 1
  std::vector<Pass> passes_;
  Pass* votes_with_ = nullptr;  // of these, the one whose exchange carries the votes; null where one process trains
  std::optional<Clipping> clipping_;
  std::vector<Rates> rates_;
  std::optional<StepGraphs> graphs_;  // of train.cuda_graph, where it can be
  struct {
    std::vector<at::Tensor> sums, gradients;  // of passes_, and of learned_, whose memory the graphs write to
    at::Tensor norm, overflow;
  } captured_;
  bool repeated_ = false;             // the iteration under way, by them
  std::vector<std::uint64_t> ids_;  // of the micro-batch's rows, for hooks
  std::unique_ptr<OpTimes> op_times_;  // while the profile records
  std::optional<nets::GradScaler> scaler_;
  std::optional<nets::Ema> ema_;
  bool ema_validates_ = false, validating_ = false;
  std::optional<NetValidator> validator_;
  Votes votes_;
  std::uint64_t tried_ = 0;    // the ticket of the micro-batch under way
  std::size_t exchanged_ = 0;  // its passes that are done
  bool exchanging_ = false;    // gradients of one are on their way
  std::function<std::unique_ptr<BatchAdapter>(const SlabLayout&)> make_train_batch_;
  std::unique_ptr<BatchAdapter> train_batch_;
  std::uint64_t iteration_ = 0;                // under way
  at::Tensor grad_norm_, overflow_;            // of it
  bool read_ = false;                          // by result()
  UnreadSteps unread_;
};

}  // namespace

std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec) { return std::make_unique<TorchLearner>(spec); }

std::vector<std::pair<std::string, std::vector<std::string>>> model_parts() {
  return {{"nets", nets::net_names()},
          {"losses", nets::loss_names()},
          {"optimizers", nets::optimizer_names()},
          {"training steps", training_step_names()},
          {"hooks", hook_names()},
          {"metrics", validation_metric_names()}};
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace flowtrain
