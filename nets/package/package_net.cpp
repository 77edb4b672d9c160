// Nets from packages: forward, losses and backward, compiled by PyTorch into one file (flowtrain.export).

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "nets/diagnostics/op_watch.h"
#include "nets/net.h"
#include "nets/package/archive.h"
#include "nets/package/checks.h"
#include "nets/package/compiled_graph.h"
#include "nets/package/compiled_net.h"
#include "nets/package/description.h"
#include "nets/package/given_gradients.h"
#include "nets/package/package_text.h"
#include "nets/package/weights.h"
#include "nets/steps/step.h"
#include "sampling/core/mistake.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using Names = std::vector<std::string>;

/// Adds those of `names` that are not in `tensors` yet.
void add_named(NamedTensors& tensors, const Names& names, const NamedTensors& weights, const PackageArchive& archive) {
  for (const std::string& name : names) {
    if (!weights.contains(name)) throw archive.error("its weights.safetensors lacks the tensor '" + name + "'");
    if (!tensors.contains(name)) tensors.add(name, weights.at(name));
  }
}

std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

/// Returns the name of the module that holds a tensor, or another module; the net itself is "".
std::string holder_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

/// Returns whether the nearest module with parameters around a buffer (for a parametrization, the module around it) is
/// among `frozen`, and not among `moving`. There may be no such module.
bool is_of(const std::set<std::string>& frozen, const std::set<std::string>& moving, const std::string& buffer) {
  std::string module = holder_of(buffer);
  while (!module.empty() && !frozen.contains(module) && !moving.contains(module)) module = holder_of(module);
  return frozen.contains(module) && !moving.contains(module);
}

std::vector<BatchField> fields_of(const NamedTensors& batch) {
  std::vector<BatchField> fields;
  for (const auto& [name, tensor] : batch)
    fields.push_back({name, c10::getDtypeNames(tensor.scalar_type()).first, tensor.sizes().vec()});
  return fields;
}

/// The graph that gives a loss and its gradients.
struct LossGraph {
  const PackageGraph& description;
  std::string what;                     ///< name of the graph in messages
  NamedTensors learned;                 ///< parameters that it gives a gradient of, in its order
  std::unique_ptr<CompiledGraph> code;  ///< set once the net is on its device
};

class PackageNet final : public Net, public CompiledNet, public HasTextNet {
 public:
  explicit PackageNet(const std::string& path) : archive_(path), description_(read_description(archive_)) {
    check_version(description_, archive_);
    const NamedTensors weights = read_weights(archive_);
    for (const PackageGraph& graph : description_.train) add(graph, weights);
    take_tensors(description_.eval, weights);
  }

  /// Returns the outputs and losses of the evaluation graph, without gradients.
  NamedTensors forward(const NamedTensors& batch) override {
    check(batch);
    return evaluated(batch);
  }
  NamedTensors loss_of(const std::string& loss, const NamedTensors& batch) override {
    check(batch);
    return training_ ? trained(graph_of(loss), batch) : evaluated(batch);
  }
  Names losses() const override {
    Names names;
    for (const LossGraph& graph : graphs_) names.push_back(graph.description.loss().name);
    return names;
  }
  Names scalars_of(const std::string& loss) const override {
    Names names;
    for (const PackageOutput& output : graph_of(loss).description.outputs)
      if (output.kind == PackageOutput::Kind::metric) names.push_back(output.name);
    return names;
  }
  bool counts(const std::string& name) const override {
    const auto found = std::ranges::find(description_.eval.outputs, count_of(name), &PackageOutput::name);
    return found != description_.eval.outputs.end() && found->kind == PackageOutput::Kind::count;
  }
  bool may_give(const std::string& output) const override {
    return std::ranges::find(description_.eval.outputs, output, &PackageOutput::name) !=
           description_.eval.outputs.end();
  }
  NamedTensors parameters() const override { return parameters_; }
  NamedTensors buffers() const override { return buffers_; }
  void train(bool on) override { training_ = on; }

  void freeze(const std::set<std::string>& parameters) override {
    std::set<std::string> moving, frozen;
    for (const auto& [name, parameter] : parameters_) {
      if (!parameter.requires_grad()) continue;
      const bool is_frozen = parameters.contains(name);
      if (is_frozen) parameter.requires_grad_(false);
      (is_frozen ? frozen : moving).insert(holder_of(name));
    }
    for (const PackageGraph& graph : description_.train)
      for (const Names* const names : {&graph.changed, &graph.counters})
        for (const std::string& name : *names)
          if (is_of(frozen, moving, name)) kept_.insert(name);
    if (!kept_.empty())
      warn(archive_
               .error(concat("the running statistics of frozen layers stay as they are, but the compiled graph "
                             "trains with those of the batch: ",
                             layer_of(*kept_.begin()), kept_.size() > 1 ? " …" : ""))
               .what());
    bind();
  }
  void span_batch_norm(const SumOverProcesses&) override {
    throw archive_.error("the batch normalisation of a compiled graph cannot span processes");
  }

  void to(at::Device device, bool channels_last) override {
    const std::string type = at::DeviceTypeName(device.type(), /*lower_case=*/true);
    if (type != description_.device)
      throw Mistake(
          archive_.error(concat("it was compiled for ", description_.device, ", but the net runs on ", type)).what(),
          concat("set run.device = \"", description_.device, "\", or ", make_anew(description_)));
    if (channels_last) throw archive_.error("a compiled graph has its own layout: set net.channels_last = false");
    for (const NamedTensors* const tensors : {&parameters_, &buffers_, &constants_})
      for (const auto& [name, tensor] : *tensors) tensor.set_data(tensor.detach().to(device));
    // Threads would otherwise add up the gradients of advanced indexing (index_put) in the order in which they finish.
    if (device.is_cpu()) {
      at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
      at::globalContext().setDeterministicFillUninitializedMemory(false);  // the setting only helps to find mistakes
    }
    for (LossGraph& graph : graphs_)
      graph.code = std::make_unique<CompiledGraph>(archive_, graph.description.name, device);
    eval_ = std::make_unique<CompiledGraph>(archive_, description_.eval.name, device);
    bind();
  }

  void check_use(const NetUse& use) const override { nets::check_use(description_, use, archive_); }
  void take_loss_scale(const at::Tensor& scale) override { scale_ = scale; }
  void take_unit_gradient(const at::Tensor& one) override { one_ = one; }
  std::int64_t rows() const override { return rows_of(description_); }
  TextNet* text_net() override {
    if (!text_) text_ = PackageText::make(description_, [this](const NamedTensors& batch) { return forward(batch); });
    return text_.get();
  }

 private:
  void take_tensors(const PackageGraph& graph, const NamedTensors& weights) {
    add_named(parameters_, graph.parameters, weights, archive_);
    for (const Names* const names : {&graph.buffers, &graph.counters}) add_named(buffers_, *names, weights, archive_);
    add_named(constants_, graph.constants, weights, archive_);
  }

  void add(const PackageGraph& graph, const NamedTensors& weights) {
    take_tensors(graph, weights);
    NamedTensors learned;
    for (const PackageOutput& output : graph.outputs)  // other parameters have no gradient
      if (output.kind == PackageOutput::Kind::gradient)
        learned.add(output.of, parameters_.at(output.of).requires_grad_(true));
    const std::string which = description_.train.size() > 1 ? " of the loss '" + graph.loss().name + "'" : "";
    graphs_.push_back({graph, concat("the training graph", which, " of ", archive_.path()), std::move(learned), {}});
  }

  const LossGraph& graph_of(const std::string& loss) const {
    return *std::ranges::find_if(graphs_,
                                 [&](const LossGraph& graph) { return graph.description.loss().name == loss; });
  }

  void bind() {
    if (!eval_) return;
    NamedTensors all = parameters_;
    for (const NamedTensors* const tensors : {&buffers_, &constants_})
      for (const auto& [name, tensor] : *tensors) all.add(name, tensor);
    eval_->bind(all);
    // Training graphs would change the buffers of frozen layers, so they write to copies, which each step restores.
    scratch_ = {};
    for (const std::string& name : kept_) {
      scratch_.add(name, buffers_.at(name).clone());
      all.set(name, scratch_.at(name));
    }
    for (const LossGraph& graph : graphs_) graph.code->bind(all);
  }

  void check(const NamedTensors& batch) const {
    check_inputs(description_, fields_of(batch), archive_);
    check_values(description_, batch, archive_);
  }

  std::vector<at::Tensor> arguments(const NamedTensors& batch) const {
    std::vector<at::Tensor> values;
    for (const PackageInput& input : description_.inputs)
      values.push_back(
          batch.at(input.field.name)
              .contiguous(input.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
    return values;
  }

  std::vector<at::Tensor> run(const CompiledGraph& graph, const PackageGraph& description,
                              const std::vector<at::Tensor>& inputs) const {
    std::vector<at::Tensor> results = graph.run(inputs);
    if (results.size() != description.outputs.size())
      throw archive_.error(
          concat("a graph gave ", results.size(), " tensors, but its description has ", description.outputs.size()));
    return results;
  }

  NamedTensors trained(const LossGraph& graph, const NamedTensors& batch) {
    std::vector<at::Tensor> inputs = arguments(batch);
    at::Tensor scale;
    if (description_.amp == "fp16") {
      scale = scale_.defined() ? scale_.detach().reshape({}) : at::ones({}, at::TensorOptions(inputs.front().device()));
      inputs.push_back(scale.clone());
    }
    WatchedOperation operation(graph.what, inputs);
    for (const auto& [name, tensor] : scratch_) at::Tensor(tensor).copy_(buffers_.at(name));
    std::vector<at::Tensor> results = run(*graph.code, graph.description, inputs);
    NamedTensors outputs;
    std::vector<at::Tensor> gradients;  // in the order of graph.learned
    for (std::size_t i = 0; i < results.size(); ++i) {
      const PackageOutput& output = graph.description.outputs[i];
      switch (output.kind) {
        case PackageOutput::Kind::loss:
          if (results[i].numel() != 1)
            throw archive_.error(c10::str("its loss has shape ", results[i].sizes(), ", expected one number"));
          outputs.set(output.name, results[i].reshape({}));
          break;
        case PackageOutput::Kind::gradient: gradients.push_back(std::move(results[i])); break;
        default: outputs.set(output.name, results[i]);
      }
    }
    for (const std::string& counter : graph.description.counters)
      if (!kept_.contains(counter)) at::Tensor(buffers_.at(counter)).add_(1);
    operation.made(tensors_of(outputs));
    const std::string& loss = graph.description.loss().name;
    if (at::GradMode::is_enabled())
      outputs.set(loss,
                  with_gradients(outputs.at(loss), graph.learned, std::move(gradients), {scale, one_}, graph.what));
    return outputs;
  }

  NamedTensors evaluated(const NamedTensors& batch) const {
    const std::vector<at::Tensor> inputs = arguments(batch);
    const std::string what = "the evaluation graph of " + archive_.path();
    WatchedOperation operation(what, inputs);
    const std::vector<at::Tensor> results = run(*eval_, description_.eval, inputs);
    NamedTensors outputs;
    for (std::size_t i = 0; i < results.size(); ++i) outputs.set(description_.eval.outputs[i].name, results[i]);
    operation.made(results);
    return outputs;
  }

  const PackageArchive archive_;
  const PackageDescription description_;
  NamedTensors parameters_, buffers_, constants_;
  std::vector<LossGraph> graphs_;        // one for each loss
  std::unique_ptr<CompiledGraph> eval_;  // set after to()
  std::set<std::string> kept_;           // buffers of frozen layers, which training graphs would change
  NamedTensors scratch_;                 // copies that replace those buffers in these graphs
  at::Tensor scale_, one_;
  std::unique_ptr<PackageText> text_;  // made when it is first asked for
  bool training_ = true;
};

std::unique_ptr<Net> make_package_net(const Settings& settings, const NetInput&) {
  return std::make_unique<PackageNet>(settings.text("package"));
}

}  // namespace
#endif

// The package's losses are those of step.name = "package".
FLOWTRAIN_PARTS(package_net) {
  parts.nets.add({"package",
                  "net with its losses and backward pass, compiled by PyTorch (`python -m flowtrain export`)",
                  {{.name = "package",
                    .kind = Kind::text,
                    .fallback = std::string(),
                    .help = "path of the file that flowtrain.export() of the Python package wrote",
                    .required = true,
                    .is_path = true}},
                  FLOWTRAIN_MAKE(make_package_net),
                  {.least_side = 0, .detector = "boxes"}});
}

}  // namespace flowtrain::nets
