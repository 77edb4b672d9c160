#include "stages/torch/learner.h"

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "nets/cornernet/cornernet.h"
#include "nets/loss.h"
#include "nets/metric.h"
#include "nets/names.h"
#include "nets/net.h"
#include "nets/optimizer.h"
#include "sampling/random.h"
#include "stages/evaluation/figures.h"
#include "stages/torch/batch.h"
#include "stages/torch/data_parallel.h"
#include "stages/torch/detection/corner_detector.h"
#include "stages/torch/net_spec.h"
#include "stages/torch/state_copy.h"

namespace flowtrain {

namespace {

// nets/ reports the user's mistakes as std::invalid_argument, which knows nothing of where they were written.
template <class Make>
auto made_from(const Settings& settings, const std::string& key, Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    throw settings.error(key, error.what());
  }
}

nets::NetSpec net_spec(const LearnerSpec& spec) {
  nets::NetSpec net = net_spec_of(spec.net, spec.classes);
  for (auto& field : spec.train_layout.fields())
    if (field.name == "image" && field.shape.size() == 3)
      net.height = field.shape[0], net.width = field.shape[1], net.channels = field.shape[2];
  return net;
}

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

DataParallelOptions parallel_options(const Settings& dist) {
  DataParallelOptions options;
  options.bucket_mb = dist.real("bucket_mb");
  options.first_bucket_mb = dist.real("first_bucket_mb");
  options.find_unused = dist.boolean("find_unused");
  options.static_graph = dist.boolean("static_graph");
  if (const auto wire = dist.text("compress"); wire != "none") options.wire = wire == "fp16" ? at::kHalf : at::kBFloat16;
  return options;
}

// Of batches, and of what a detector finds.
std::vector<std::string> metric_names() {
  auto names = nets::metric_names();
  names.insert(names.end(), detection_figure_names().begin(), detection_figure_names().end());
  return names;
}

// Casts to bf16 where ATen's autocast lists say so, while it lives.
class Autocast {
 public:
  Autocast(bool on, at::DeviceType device) : on_(on), device_(device) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::set_autocast_enabled(device_, false);
    at::autocast::clear_cache();  // weights change with every step
  }
  Autocast(const Autocast&) = delete;

 private:
  bool on_;
  at::DeviceType device_;
};

class TorchLearner : public Learner {
 public:
  explicit TorchLearner(const LearnerSpec& spec)
      : net_settings_(spec.net), loss_settings_(spec.loss), val_settings_(spec.val),
        where_(spec.device), mode_(spec.mode), seed_(spec.seed), group_(*spec.group),
        accum_(static_cast<double>(spec.train.integer("accum"))), clip_(spec.train.real("clip")),
        amp_(spec.train.text("amp") == "bf16"), may_discard_(accum_ > 1 || spec.train.text("nonfinite") == "skip") {
    configure_torch(spec.run, spec.processes_here);
    torch::manual_seed(Stream(seed_, Purpose::init, 0).next64());
    const bool channels_last = spec.net.boolean("channels_last");
    net_ = made_from(net_settings_, net_key(), [&] { return nets::make_net(net_spec(spec)); });
    net_->to(where_, channels_last);
    parameters_ = net_->parameters();
    buffers_ = net_->buffers();
    optimizer_ = made_from(spec.optim, "name", [&] { return nets::make_optimizer(optimizer_spec(spec.optim), parameters_); });
    loss_ = made_from(spec.loss, "name", [&] {
      return nets::make_loss({spec.loss.text("name"), spec.loss.real("label_smoothing"), spec.loss.real("pull_weight"),
                              spec.loss.real("push_weight"), spec.loss.real("off_weight")});
    });
    for (auto& name : spec.val.texts("metrics")) add_metric(name, spec);
    parts_ = loss_->figures();
    const auto figures = static_cast<std::int64_t>(1 + parts_.size());
    // Alone in its job a process has nothing to average, and is spared the copies into buckets.
    if (auto* group = dynamic_cast<TorchGroup*>(spec.group); group && group->size() > 1) {
      parallel_.emplace(*group, parameters_, buffers_, figures, parallel_options(*spec.dist));
      if (spec.dist->boolean("sync_batch_norm"))
        made_from(*spec.dist, "sync_batch_norm",
                  [&] { return net_->span_batch_norm([group](at::Tensor& values) { group->sum(values); }); });
    }
    net_->train(true);
    std::optional<BatchMixer> mixer;
    if (spec.mixing.any())
      mixer.emplace(spec.mixing, spec.train_layout, seed_, static_cast<std::uint32_t>(spec.train.integer("accum")));
    train_batch_.emplace(spec.train_layout, where_, channels_last, std::move(mixer));
    if (spec.val_layout) val_batch_.emplace(*spec.val_layout, where_, channels_last);
  }

  void set_learning_rate(double lr) override { optimizer_->set_lr(lr); }

  void backward(Slab& slab) override {
    const Ticket& ticket = slab.ticket();
    const bool first = ticket.micro == 0;
    if (first) begin_iteration();
    if (parallel_) parallel_->begin(first, ticket.micro + 1 == accum_);
    // What the net draws (dropout) is keyed by step and rank, so that it needs no state in snapshots.
    const std::uint64_t step = Stream(seed_, Purpose::net, ticket.iteration << 16 | ticket.micro).next64();
    torch::manual_seed(step ^ mix64(static_cast<std::uint64_t>(group_.rank())));
    const auto losses = forward((*train_batch_)(slab));
    const auto& loss = losses.at("loss");
    const auto part = accum_ == 1 ? loss : loss / accum_;
    const auto figures = figures_of(losses) / accum_;
    if (parallel_) parallel_->backward(part, figures, slab.share(), votes_);
    else if (mode_ != TrainMode::forward_only) part.backward();
    if (slab.owner().copies()) slab.owner().consumed(ticket.slot);
    figures_ = figures_.defined() ? figures_ + figures : figures;
  }

  StepResult result() override {
    if (mode_ != TrainMode::forward_only) clip_gradients();
    StepResult done = parallel_ ? parallel_->result() : StepResult{};
    const at::Tensor figures = parallel_ ? parallel_->figures() : figures_.to(at::kCPU);
    const float* figure = figures.const_data_ptr<float>();
    done.loss = *figure++;
    for (auto& name : parts_) done.parts.emplace_back(name, *figure++);
    if (grad_norm_.defined()) done.grad_norm = grad_norm_.item<double>();
    return done;
  }

  void vote(const Votes& votes) override { votes_ = votes; }

  void update() override {
    if (mode_ != TrainMode::full) return;
    copier_.before_change();
    if (clip_ > 0) clip_gradients();
    optimizer_->step();
  }

  void discard() override {
    optimizer_->zero_grad();
    const torch::NoGradGuard no_gradients;
    auto to = buffers_.begin();
    for (auto& kept : kept_buffers_) (to++)->second.copy_(kept);
  }

  bool result_is_cheap() const override { return where_.is_cpu(); }

  void begin_validation() override {
    if (parallel_) parallel_->share_buffers();
    net_->train(false);
    val_loss_ = 0;
    val_rows_ = 0;
    for (auto& [name, metric] : metrics_) metric->reset();
  }

  Detector* detector() override { return detector_.get(); }

  void validate(Slab& slab) override {
    if (slab.share() == 0) return;  // rows of the batch that other processes have
    const c10::InferenceMode no_gradients;
    const auto batch = (*val_batch_)(slab);
    const auto outputs = run_net(batch);
    const auto rows = static_cast<double>(slab.rows().size());
    val_loss_ += losses_of(outputs, batch).at("loss").item<double>() * rows;
    val_rows_ += rows;
    made_from(val_settings_, "metrics", [&] {
      for (auto& [name, metric] : metrics_) metric->update(outputs, batch);
    });
    if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
  }

  Figures end_validation() override {
    net_->train(true);
    std::vector<double> sums{val_loss_, val_rows_};
    for (auto& [name, metric] : metrics_)
      for (const double total : metric->totals()) sums.push_back(total);
    group_.sum(sums);
    Figures figures{{"loss", sums[1] > 0 ? sums[0] / sums[1] : std::nan("")}};
    auto from = sums.begin() + 2;
    for (auto& [name, metric] : metrics_) {
      const auto to = from + static_cast<std::ptrdiff_t>(metric->totals().size());
      figures.emplace_back(name, metric->value({from, to}));
      from = to;
    }
    return figures;
  }

  void copy_state(LearnerState& state) override {
    copier_.copy(parameters_, buffers_, optimizer_->state(), state);
  }

  void load_state(const LearnerState& state) override {
    nets::NamedTensors model;
    for (auto& [name, tensor] : parameters_) model.set(name, tensor);
    for (auto& [name, tensor] : buffers_) model.set(name, tensor);
    copier_.before_change();
    copy_in(state.model, model, "model");
    if (!state.optim.empty()) copy_in(state.optim, optimizer_->state(), "optimizer");
  }

  void set_threads(unsigned threads) override { torch::set_num_threads(static_cast<int>(threads)); }

  void share_state() override {
    if (!parallel_) return;
    parallel_->share(parameters_);
    parallel_->share(buffers_);
    parallel_->share(optimizer_->state());
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
    at::globalContext().setBenchmarkCuDNN(!deterministic);
  }

  void add_metric(const std::string& name, const LearnerSpec& spec) {
    if (name == "loss") return;
    if (is_detection_figure(name)) return look_for_objects(name, spec);
    const auto known = nets::metric_names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw spec.val.error("metrics", nets::unknown_name("metric", name, metric_names()).what());
    metrics_.emplace_back(name, nets::make_metric(name));
  }

  void look_for_objects(const std::string& metric, const LearnerSpec& spec) {
    const auto net = std::dynamic_pointer_cast<nets::CornerNet>(net_);
    if (!net) throw spec.val.error("metrics", "'" + metric + "' is a figure of nets that find objects, which this one does not");
    if (!spec.detect || detector_) return;
    detector_ = detector_through(net, {spec.net, *spec.sampler, *spec.detect, spec.classes, spec.device});
  }

  void begin_iteration() {
    copier_.before_buffers_change();
    optimizer_->zero_grad();
    figures_ = torch::Tensor();
    grad_norm_ = torch::Tensor();
    if (!may_discard_) return;
    kept_buffers_.clear();
    for (auto& [name, buffer] : buffers_) kept_buffers_.push_back(buffer.clone());
  }

  // Once per iteration; without train.clip it only measures.
  void clip_gradients() {
    if (grad_norm_.defined()) return;
    grad_norm_ = nets::clip_grad_norm(parameters_, clip_ > 0 ? clip_ : std::numeric_limits<double>::infinity());
  }

  nets::NamedTensors forward(const nets::NamedTensors& batch) {
    const Autocast cast(amp_, where_.type());
    return losses_of(run_net(batch), batch);
  }

  // The loss and its parts: (1 + parts) f32.
  at::Tensor figures_of(const nets::NamedTensors& losses) const {
    std::vector<at::Tensor> figures{losses.at("loss").detach()};
    for (auto& name : parts_) figures.push_back(losses.at(name).detach());
    return torch::stack(figures).to(at::kFloat);
  }

  std::string net_key() const { return net_settings_.text("script").empty() ? "name" : "script"; }

  // A script's forward is the user's.
  nets::NamedTensors run_net(const nets::NamedTensors& batch) {
    return made_from(net_settings_, net_key(), [&] { return net_->forward(batch); });
  }

  // Outputs and batch fit each other only if net, loss and sampler were chosen so.
  nets::NamedTensors losses_of(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) {
    return made_from(loss_settings_, "name", [&] { return (*loss_)(outputs, batch); });
  }

  const Settings net_settings_, loss_settings_, val_settings_;
  at::Device where_;
  StateCopier copier_{where_};
  TrainMode mode_;
  std::uint64_t seed_;
  Group& group_;
  double accum_, clip_;
  bool amp_, may_discard_;
  std::shared_ptr<nets::Net> net_;
  nets::NamedTensors parameters_, buffers_;
  std::vector<at::Tensor> kept_buffers_;  // as they were before the iteration
  std::unique_ptr<nets::Optimizer> optimizer_;
  std::unique_ptr<nets::Loss> loss_;
  std::vector<std::string> parts_;  // of the loss, reported beside it
  std::vector<std::pair<std::string, std::unique_ptr<nets::Metric>>> metrics_;
  std::unique_ptr<Detector> detector_;
  std::optional<DataParallel> parallel_;
  Votes votes_;
  std::optional<BatchAdapter> train_batch_, val_batch_;
  at::Tensor figures_, grad_norm_;  // of the iteration under way
  double val_loss_ = 0, val_rows_ = 0;
};

}  // namespace

std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec) { return std::make_unique<TorchLearner>(spec); }

std::vector<std::pair<std::string, std::vector<std::string>>> model_parts() {
  return {{"nets", nets::net_names()},
          {"losses", nets::loss_names()},
          {"optimizers", nets::optimizer_names()},
          {"metrics", metric_names()}};
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace flowtrain
