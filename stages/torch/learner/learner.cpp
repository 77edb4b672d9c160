#include "stages/torch/learner/learner.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "nets/net.h"
#include "nets/package/compiled_net.h"
#include "sampling/core/cpus.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "stages/torch/diagnostics/list_layers.h"
#include "stages/torch/diagnostics/memory_probe.h"
#include "stages/torch/diagnostics/nonfinite_search.h"
#include "stages/torch/diagnostics/tensor_histograms.h"
#include "stages/torch/hooks/add_hooks.h"
#include "stages/torch/parallel/torch_group.h"
#include "stages/torch/step/learner_net.h"
#include "stages/torch/step/step_graphs.h"
#include "stages/torch/step/step_readout.h"
#include "stages/torch/step/train_step.h"
#include "stages/torch/validation/net_text_model.h"
#include "stages/torch/validation/net_validator.h"
#include "stages/torch/validation/validation_replica.h"

namespace flowtrain {

namespace {

// Sets LibTorch's own options for the whole process. `processes_here` is the number that share the cores.
void configure_torch(const RunKeys& run, unsigned processes_here) {
  const auto* given = std::get_if<std::int64_t>(&*run.threads);
  auto threads = given ? static_cast<int>(*given) : 0;
  if (threads == 0) threads = static_cast<int>(std::max(1u, usable_cores() / processes_here));
  torch::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(*run.deterministic, /*warn_only=*/true);
  // No result depends on memory that kernels leave unwritten; filling new memory first costs a CPU 3 % of a step.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::globalContext().setDeterministicCuDNN(*run.deterministic);
  at::globalContext().setUserEnabledCuDNN(*run.cudnn != "off");
  at::globalContext().setBenchmarkCuDNN(*run.cudnn == "auto" && !*run.deterministic);
}

class TorchLearner : public Learner,
                     public RowValidator,
                     public ClassPredictor,
                     public TextValidator,
                     public LayerLister {
 public:
  explicit TorchLearner(const LearnerSpec& spec)
      : spec_(spec),
        net_(make_configured_net(spec)),
        weights_(*net_, at::Device(spec.process.device), may_discard(spec)),
        step_(spec_, *net_),
        batches_(make_train_batches(spec_, spec.data.train_layout)),
        validator_(spec_, net_, step_.step()) {
    if (*spec.tables.train.cuda_graph) keep_hyper_on_device();
    if (spec.process.profile && spec.process.profile->detailed() && nets::compiled_net(*net_))
      warn("--profile: the compiled graph of net.package is one operation, so there are no times of layers");
    if (spec.process.hooks) add_hooks(*spec.process.hooks, spec.tables.hook_list);
    net_->train(true);
  }

  void set_hyper(std::span<const HyperParameters> hyper) override {
    step_.optimizers().set_hyper(hyper);
    graphs_.set_hyper(hyper);
  }
  void set_threads(unsigned threads) override { torch::set_num_threads(static_cast<int>(threads)); }

  void forward_backward(Slab& slab, const StepFlags& flags) override {
    repeated_ = repeat(slab);
    if (repeated_) return;
    if (slab.ticket().micro == 0) {
      begin_iteration();
      step_.begin(slab.ticket().iteration, weights_.parameters());
    }
    step_.add_gradients(slab, *batches_, flags);
  }

  bool contribute_zeros(Slab& slab, const StepFlags& flags) override { return step_.contribute_zeros(slab, flags); }
  void finish_gradients() override { step_.finish_gradients(); }
  StepStats stats() const override { return readout_.read(step_); }
  bool stats_are_free() const override { return at::Device(spec_.process.device).is_cpu(); }

  void update() override {
    if (spec_.process.mode != TrainMode::full) return;
    weights_.before_change();
    readout_.keep(step_);
    StepObservers& observers = step_.observers();
    observers.during(Phase::optimizer, [&] {
      if (repeated_)
        graphs_.repeat_update();
      else
        step_.apply();
      step_.optimizers().average(step_.iteration());
    });
    if (observers.look(HookEvent::step) && !(step_.overflow().defined() && step_.overflow().item<float>() > 0))
      observers.show(HookEvent::step, &HookContext::parameters, step_.optimizers().learned());
  }

  void discard() override {
    step_.optimizers().forget_gradients();
    weights_.restore_buffers();
  }

  NetSummary net_summary() const override {
    NetSummary summary;
    for (auto& [name, tensor] : weights_.parameters())
      summary.parameters.push_back({name, tensor.sizes().vec(), static_cast<std::uint64_t>(tensor.numel()),
                                    tensor.nbytes(), step_.optimizers().owner(name)});
    for (auto& [name, tensor] : weights_.buffers()) summary.buffer_bytes += tensor.nbytes();
    for (auto& [name, tensor] : step_.optimizers().state()) summary.optimizer_bytes += tensor.nbytes();
    return summary;
  }

  LayerList list_layers() override { return flowtrain::list_layers(*net_, spec_, net_summary()); }

  double step_flops() const override { return step_.flops(); }
  Histograms histograms() const override { return tensor_histograms(step_.optimizers().learned()); }

  MemoryProbe* memory_probe() override { return &memory_probe_; }
  NonFiniteSearch* nonfinite_search() override { return &nonfinite_search_; }

  void begin_validation() override {
    share_tensors(*spec_.process.group, "the sharing of running statistics", weights_.buffers());
    torch::manual_seed(validation_seed(spec_));
    use_average();
    net_->train(false);
    validating_ = true;
    validator_.begin();
  }
  void validate(Slab& slab) override { validator_.add(slab); }
  RowResults validate_rows(Slab& slab, std::span<const std::size_t> shown) override {
    return validator_.add_rows(slab, shown);
  }
  Logits predict(Slab& slab) override { return validator_.predict(slab); }
  Detector* detector() override { return validator_.detector(); }
  TextModel* text_model() override {
    if (!text_model_) text_model_ = make_text_model(spec_, net_);
    return text_model_.get();
  }
  const ClassTable* confusion() const override { return validator_.confusion(); }

  Scalars end_validation() override {
    leave_validation();
    return validator_.end(*spec_.process.group);
  }

  void leave_validation() override {
    if (!std::exchange(validating_, false)) return;
    use_average();
    net_->train(true);
  }

  std::unique_ptr<ValidationReplica> make_replica() override {
    return make_validation_replica(spec_, step_.optimizers().validated(weights_.parameters()), weights_.buffers());
  }

  void copy_state(LearnerState& state) override { weights_.copy(step_.optimizers().state(), state); }

  void load_state(const LearnerState& state) override {
    weights_.load(state.model);
    step_.optimizers().load(state.optim);
  }

  void share_state() override {
    share_tensors(*spec_.process.group, "the sharing of parameters", weights_.parameters());
    share_tensors(*spec_.process.group, "the sharing of buffers", weights_.buffers());
    share_tensors(*spec_.process.group, "the sharing of the optimizers' state", step_.optimizers().state());
  }

 private:
  static std::shared_ptr<nets::Net> make_configured_net(const LearnerSpec& spec) {
    configure_torch(spec.tables.run, spec.process.processes_here);
    return make_learner_net(spec);
  }

  static bool may_discard(const LearnerSpec& spec) {
    return *spec.tables.train.accum > 1 || *spec.tables.train.nonfinite == "skip" ||
           *spec.tables.train.on_error != "stop";
  }

  // This applies from the first step on, so that the steps before a capture, which a resumed run makes again, round the
  // rate as the captured ones do.
  void keep_hyper_on_device() try {
    step_.optimizers().keep_hyper_on_device();
  } catch (const std::runtime_error& error) {
    graphs_.leave_because(first_line(error.what()));
  }

  void begin_iteration() {
    readout_.forget(step_);
    weights_.keep_buffers();
  }

  // Runs a whole iteration by the graphs of train.cuda_graph. Returns false if it must be made without them.
  bool repeat(Slab& slab) {
    if (!graphs_.wanted()) return false;
    const nets::NamedTensors batch = (*batches_)(slab);
    const auto gradients = [&](const nets::NamedTensors& captured) { return step_.gradients_of(slab, captured); };
    if (!graphs_.takes(batch, {gradients, [this] { step_.apply(); }})) return false;
    begin_iteration();
    step_.take(slab.ticket().iteration, graphs_.outputs());
    step_.seed_draws(slab.ticket());
    graphs_.repeat_gradients(batch);
    if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
    return true;
  }

  // Swaps the average in before a validation, and out after it.
  void use_average() {
    if (!step_.optimizers().validates_average()) return;
    weights_.before_change();
    step_.optimizers().swap_average();
  }

  const LearnerSpec spec_;
  std::shared_ptr<nets::Net> net_;
  Weights weights_;
  TrainStep step_;
  std::unique_ptr<BatchAdapter> batches_;
  StepGraphs graphs_{spec_};
  bool repeated_ = false;  // the current iteration runs by graphs
  mutable StepReadout readout_{spec_.process.profile};
  NetValidator validator_;
  bool validating_ = false;
  std::unique_ptr<NetTextModel> text_model_;  // made when it is first asked for; null: the net continues no texts
  TorchMemoryProbe memory_probe_{spec_, weights_, step_, readout_};
  TorchNonFiniteSearch nonfinite_search_{
      {*this, *net_, step_, *batches_, graphs_, static_cast<std::uint32_t>(*spec_.tables.train.accum)}};
};

}  // namespace

// The error is converted here and not at the program's end, because the start's work so far must be undone.
std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec) try {
  return std::make_unique<TorchLearner>(spec);
} catch (const c10::Error& error) {
  if (!ran_out_of_memory(error)) throw;
  throw OutOfMemory("out of memory: " + first_line(error.what_without_backtrace()));
}

std::string torch_version() { return TORCH_VERSION; }

std::string torch_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&torch::get_num_threads), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path().parent_path().string();
}

}  // namespace flowtrain
