// Nets that come as packages: forward, loss and backward, compiled by PyTorch into one file (flowtrain.export).

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "nets/diagnostics/op_watch.h"
#include "nets/models/net.h"
#include "nets/package/archive.h"
#include "nets/package/compiled_graph.h"
#include "nets/package/compiled_net.h"
#include "nets/package/description.h"
#include "nets/package/given_gradients.h"
#include "nets/reports.h"
#include "sampling/core/mistake.h"
#include "sampling/core/safetensors.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using Names = std::vector<std::string>;

at::ScalarType type_of(const std::string& safetensors_name) {
  if (safetensors_name == "F64") return at::kDouble;
  if (safetensors_name == "F32") return at::kFloat;
  if (safetensors_name == "F16") return at::kHalf;
  if (safetensors_name == "BF16") return at::kBFloat16;
  if (safetensors_name == "I64") return at::kLong;
  if (safetensors_name == "I32") return at::kInt;
  if (safetensors_name == "I16") return at::kShort;
  if (safetensors_name == "I8") return at::kChar;
  return safetensors_name == "U8" ? at::kByte : at::kBool;
}

NamedTensors read_weights(const PackageArchive& archive) {
  const ArchiveRecord record = archive.read("weights.safetensors");
  SafetensorsContent content;
  try {
    content = parse_safetensors(record.bytes(), archive.path());
  } catch (const std::exception& error) {
    throw archive.error(std::string("its weights.safetensors is damaged: ") + error.what());
  }
  NamedTensors weights;
  for (const TensorView& each : content.tensors) {
    const at::Tensor tensor = at::empty(each.shape, at::TensorOptions(type_of(each.dtype)));
    std::memcpy(tensor.data_ptr(), each.data, each.bytes);
    weights.add(each.name, tensor);
  }
  return weights;
}

NamedTensors chosen(const NamedTensors& weights, std::initializer_list<const Names*> lists,
                    const PackageArchive& archive) {
  NamedTensors tensors;
  for (const Names* const names : lists)
    for (const std::string& name : *names) {
      if (!weights.contains(name)) throw archive.error("its weights.safetensors lacks the tensor '" + name + "'");
      if (!tensors.contains(name)) tensors.add(name, weights.at(name));
    }
  return tensors;
}

std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

bool is_reduced(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 || tensor.scalar_type() == at::kHalf;
}

/// Whether the nearest module with parameters that a buffer is in (of a parametrization, the module around it) is among
/// `frozen`, and not among `moving`.
bool is_of(const std::set<std::string>& frozen, const std::set<std::string>& moving, const std::string& buffer) {
  std::string module = layer_of(buffer);
  while (!module.empty() && !frozen.contains(module) && !moving.contains(module)) module = layer_of(module);
  return frozen.contains(module) && !moving.contains(module);
}

std::vector<BatchField> fields_of(const NamedTensors& batch) {
  std::vector<BatchField> fields;
  for (const auto& [name, tensor] : batch)
    fields.push_back({name, c10::getDtypeNames(tensor.scalar_type()).first, tensor.sizes().vec()});
  return fields;
}

class PackageNet final : public Net, public Reports, public CompiledNet {
 public:
  explicit PackageNet(const std::string& path) : archive_(path), description_(read_description(archive_)) {
    check_version(description_, archive_);
    const NamedTensors weights = read_weights(archive_);
    const PackageGraph &train = description_.train, &eval = description_.eval;
    parameters_ = chosen(weights, {&train.parameters, &eval.parameters}, archive_);
    buffers_ = chosen(weights, {&train.buffers, &eval.buffers, &description_.counters}, archive_);
    constants_ = chosen(weights, {&train.constants, &eval.constants}, archive_);
    for (const PackageOutput& output : train.outputs) {
      // What the loss does not depend on has no gradient, and stays as it is.
      if (output.kind == PackageOutput::Kind::gradient)
        learned_.add(output.of, parameters_.at(output.of).requires_grad_(true));
      if (output.kind == PackageOutput::Kind::metric) scalars_.push_back(output.name);
    }
  }

  /// The loss that the evaluation graph gives has no gradients.
  NamedTensors forward(const NamedTensors& batch) override {
    check_inputs(description_, fields_of(batch), archive_);
    return training_ ? train_forward(batch) : eval_forward(batch);
  }
  bool may_give(const std::string& output) const override {
    return std::ranges::find(description_.eval.outputs, output, &PackageOutput::name) !=
           description_.eval.outputs.end();
  }
  std::vector<std::string> scalars() const override { return scalars_; }
  NamedTensors parameters() const override { return parameters_; }
  NamedTensors buffers() const override { return buffers_; }
  void train(bool on) override { training_ = on; }

  void freeze(const std::set<std::string>& parameters) override {
    std::set<std::string> moving, frozen;
    for (const auto& [name, parameter] : learned_) {
      const bool is_frozen = parameters.contains(name);
      if (is_frozen) parameter.requires_grad_(false);
      (is_frozen ? frozen : moving).insert(layer_of(name));
    }
    for (const Names* const names : {&description_.train.changed, &description_.counters})
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
          archive_.error(concat("it was compiled for ", description_.device, ", and the net runs on ", type)).what(),
          concat("run.device = \"", description_.device, "\", or ", make_anew(description_)));
    if (channels_last) throw archive_.error("a compiled graph has its own layout of memory: net.channels_last = false");
    for (const NamedTensors* const tensors : {&parameters_, &buffers_, &constants_})
      for (const auto& [name, tensor] : *tensors) tensor.set_data(tensor.detach().to(device));
    // Else threads add up the gradients of advanced indexing (index_put) in the order in which they come.
    if (device.is_cpu()) {
      at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
      at::globalContext().setDeterministicFillUninitializedMemory(false);  // for those who look for mistakes
    }
    train_.emplace(archive_, "train", device);
    eval_.emplace(archive_, "eval", device);
    bind();
  }

  void check_use(const NetUse& use) const override {
    if (!use.capability.empty()) check_machine(description_, use.capability, archive_);
    check_inputs(description_, use.fields, archive_);
    if (!use.val_fields.empty()) check_inputs(description_, use.val_fields, archive_);
    check_rows(use);
    check_classes(use);
    if (use.mixes_labels)
      throw archive_.error(
          "the loss in its graph takes one label a row, and [batch_augment] mixes labels: leave mixup and cutmix out");
    if (use.amp != description_.amp)
      throw archive_.error(concat("its graph computes with amp \"", description_.amp, "\", and train.amp is \"",
                                  use.amp, "\": set train.amp = \"", description_.amp, "\""));
    if (!use.val_amp.empty() && use.val_amp != description_.amp)
      throw archive_.error(concat("its graphs compute with amp \"", description_.amp, "\", and val.amp is \"",
                                  use.val_amp, "\": leave val.amp out"));
  }
  void take_loss_scale(const at::Tensor& scale) override { scale_ = scale; }
  bool takes_any_rows() const override {
    return std::ranges::all_of(description_.inputs, [](const BatchField& input) { return input.shape.front() < 0; });
  }

 private:
  void check_rows(const NetUse& use) const {
    if (takes_any_rows() || !use.short_batches) return;
    throw Mistake(archive_
                      .error(concat("its graphs take batches of ", description_.inputs.front().shape.front(),
                                    " rows alone, and the last one of an epoch, of a validation or of a process has "
                                    "fewer"))
                      .what(),
                  "loader.last_batch = \"wrap\", a validation set of whole batches, and a batch that the processes "
                  "divide have no such one; dynamic_batch=True makes a package for any number of rows");
  }

  // Else the compiled loss ends the process: a label beyond the last column is an error in one of its threads.
  void check_classes(const NetUse& use) const {
    const auto logits = std::ranges::find(description_.eval.outputs, "logits", &PackageOutput::name);
    const bool labelled =
        std::ranges::find(description_.inputs, "label", &BatchField::name) != description_.inputs.end();
    if (!labelled || logits == description_.eval.outputs.end() || logits->shape.size() != 2) return;
    if (const auto classes = logits->shape[1]; classes > 0 && use.classes > classes)
      throw Mistake(
          archive_.error(concat("its net tells ", classes, " classes apart, and the data set has ", use.classes))
              .what(),
          concat("export the net with ", use.classes, " classes"));
  }

  void bind() {
    if (!train_) return;
    // What the graph changes and may not gets a copy for the graph to write to, which begins each step as it is.
    scratch_ = {};
    NamedTensors own = parameters_;
    for (const auto& [name, buffer] : buffers_) {
      if (kept_.contains(name)) scratch_.add(name, buffer.clone());
      own.add(name, kept_.contains(name) ? scratch_.at(name) : buffer);
    }
    for (const auto& [name, constant] : constants_) own.add(name, constant);
    train_->bind(own);
    NamedTensors all = parameters_;
    for (const NamedTensors* const tensors : {&buffers_, &constants_})
      for (const auto& [name, tensor] : *tensors) all.add(name, tensor);
    eval_->bind(all);
  }

  std::vector<at::Tensor> arguments(const NamedTensors& batch) const {
    std::vector<at::Tensor> values;
    for (const BatchField& input : description_.inputs) values.push_back(batch.at(input.name).contiguous());
    return values;
  }

  std::vector<at::Tensor> run(const CompiledGraph& graph, const PackageGraph& description,
                              const std::vector<at::Tensor>& inputs) const {
    std::vector<at::Tensor> results = graph.run(inputs);
    if (results.size() != description.outputs.size())
      throw archive_.error(
          concat("a graph gave ", results.size(), " tensors, and its description has ", description.outputs.size()));
    return results;
  }

  NamedTensors train_forward(const NamedTensors& batch) {
    std::vector<at::Tensor> inputs = arguments(batch);
    at::Tensor scale;
    if (description_.amp == "fp16") {
      scale = scale_.defined() ? scale_.detach().reshape({}) : at::ones({}, at::TensorOptions(inputs.front().device()));
      inputs.push_back(scale.clone());
    }
    const std::string what = "the training graph of " + archive_.path();
    WatchedOperation operation(what, inputs);
    for (const auto& [name, tensor] : scratch_) at::Tensor(tensor).copy_(buffers_.at(name));
    std::vector<at::Tensor> results = run(*train_, description_.train, inputs);
    NamedTensors outputs;
    std::vector<at::Tensor> gradients;  // in the order of learned_
    for (std::size_t i = 0; i < results.size(); ++i) {
      const PackageOutput& output = description_.train.outputs[i];
      switch (output.kind) {
        case PackageOutput::Kind::loss:
          if (results[i].numel() != 1)
            throw archive_.error(c10::str("its loss has shape ", results[i].sizes(), ", expected one number"));
          outputs.set("loss", results[i].reshape({}));
          break;
        case PackageOutput::Kind::gradient: gradients.push_back(std::move(results[i])); break;
        default: outputs.set(output.name, results[i]);
      }
    }
    if (training_)
      for (const std::string& counter : description_.counters)
        if (!kept_.contains(counter)) at::Tensor(buffers_.at(counter)).add_(1);
    operation.made(tensors_of(outputs));
    if (at::GradMode::is_enabled())
      outputs.set("loss", with_gradients(outputs.at("loss"), learned_, std::move(gradients), scale, what));
    return outputs;
  }

  NamedTensors eval_forward(const NamedTensors& batch) {
    const std::vector<at::Tensor> inputs = arguments(batch);
    const std::string what = "the evaluation graph of " + archive_.path();
    WatchedOperation operation(what, inputs);
    const std::vector<at::Tensor> results = run(*eval_, description_.eval, inputs);
    NamedTensors outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const PackageOutput& output = description_.eval.outputs[i];
      const bool is_loss = output.kind == PackageOutput::Kind::loss;
      outputs.set(is_loss ? "loss" : output.name, is_reduced(results[i]) ? results[i].to(at::kFloat) : results[i]);
    }
    operation.made(results);
    return outputs;
  }

  const PackageArchive archive_;
  const PackageDescription description_;
  NamedTensors parameters_, buffers_, constants_;
  NamedTensors learned_;                       // parameters with a gradient, in the order of the training graph's
  std::vector<std::string> scalars_;           // that the training graph reports beside the loss
  std::set<std::string> kept_;                 // buffers of frozen layers, which the training graph would change
  NamedTensors scratch_;                       // in their place in that graph
  std::optional<CompiledGraph> train_, eval_;  // there after to()
  at::Tensor scale_;
  bool training_ = true;
};

std::unique_ptr<Net> make_package_net(const Settings& settings, const NetInput&) {
  return std::make_unique<PackageNet>(settings.text("package"));
}

}  // namespace
#endif

// The loss is the package's own (loss.name = "output").
FLOWTRAIN_PARTS(package_net) {
  parts.nets.add({"package",
                  "a net with its loss and backward pass, compiled by PyTorch (`python -m flowtrain export`)",
                  {{.name = "package",
                    .kind = Kind::text,
                    .fallback = std::string(),
                    .help = "the file, as flowtrain.export() of the Python package writes it",
                    .required = true,
                    .is_path = true}},
                  FLOWTRAIN_MAKE(make_package_net),
                  {.least_side = 0}});
}

}  // namespace flowtrain::nets
