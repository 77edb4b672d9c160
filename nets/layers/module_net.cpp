#include "nets/layers/module_net.h"

#include "nets/layers/batch_norm.h"
#include "nets/layers/module.h"

namespace flowtrain::nets {
namespace {

NamedTensors named(const torch::OrderedDict<std::string, at::Tensor>& from) {
  NamedTensors tensors;
  for (const auto& item : from) tensors.add(item.key(), item.value());
  return tensors;
}

class ClassifierNet final : public ModuleNet {
 public:
  explicit ClassifierNet(std::shared_ptr<Classifier> module) : ModuleNet(module), classifier_(std::move(module)) {}

  NamedTensors forward(const NamedTensors& batch) override {
    // Losses and metrics need f32; under autocast the last layer gives a reduced type.
    return {{"logits", classifier_->forward(batch.at("image")).to(at::kFloat)}};
  }
  bool may_give(const std::string& output) const override { return output == "logits"; }

 private:
  std::shared_ptr<Classifier> classifier_;
};

}  // namespace

std::unique_ptr<Net> as_net(std::shared_ptr<Classifier> classifier) {
  return std::make_unique<ClassifierNet>(std::move(classifier));
}

NamedTensors ModuleNet::parameters() const { return named(module_->named_parameters()); }
NamedTensors ModuleNet::buffers() const { return named(module_->named_buffers()); }

void ModuleNet::train(bool on) {
  module_->train(on);
  for (const auto& module : frozen_) module->train(false);
}

void ModuleNet::freeze(const std::set<std::string>& parameters) {
  for (const auto& item : module_->named_modules()) {
    const std::string prefix = item.key().empty() ? "" : item.key() + ".";
    const auto own = item.value()->named_parameters(/*recurse=*/false);
    std::size_t frozen = 0;
    for (const auto& parameter : own) {
      if (!parameters.contains(prefix + parameter.key())) continue;
      parameter.value().set_requires_grad(false);
      ++frozen;
    }
    if (frozen > 0 && frozen == own.size()) frozen_.push_back(item.value());
  }
}

void ModuleNet::to(at::Device device, bool channels_last) {
  module_->to(device);
  lay_out(parameters(), channels_last);
  lay_out(buffers(), channels_last);
}

void ModuleNet::span_batch_norm(const SumOverProcesses& sum) {
  for (const auto& module : module_->modules())
    if (auto* const norm = module->as<BatchNorm2d>()) norm->span(sum);
}

std::size_t ModuleNet::restart_batch_norm() {
  std::size_t layers = 0;
  const auto restart = [&](auto* norm) {
    if (!norm || !norm->is_training()) return;
    norm->options.momentum(std::nullopt);
    norm->reset_running_stats();
    ++layers;
  };
  for (const auto& module : module_->modules()) {
    restart(module->as<torch::nn::BatchNorm1dImpl>());
    restart(module->as<torch::nn::BatchNorm2dImpl>());
  }
  return layers;
}

void lay_out(const NamedTensors& tensors, bool channels_last) {
  const auto format = channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dim() == 4) tensor.set_data(tensor.detach().contiguous(format));
  }
}

}  // namespace flowtrain::nets
