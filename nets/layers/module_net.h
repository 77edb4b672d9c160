#pragma once
// Nets made of torch's modules, without torch.h.

#include <memory>

#include "nets/net.h"

namespace torch::nn {
class Module;
}

namespace flowtrain::nets {

/// A Net without forward(). parameters() and buffers() keep the modules' names and the order of registration.
class ModuleNet : public Net {
 public:
  NamedTensors parameters() const override;
  NamedTensors buffers() const override;
  void train(bool on) override;
  void freeze(const std::set<std::string>& parameters) override;
  void to(at::Device device, bool channels_last) override;
  void span_batch_norm(const SumOverProcesses& sum) override;
  /// Restarts the running statistics of batch normalisation in train mode: they become the mean of those of all batches
  /// from now on (momentum = None, as torch.optim.swa_utils.update_bn has it). Frozen layers keep theirs. Returns the
  /// number of layers.
  std::size_t restart_batch_norm();

 protected:
  explicit ModuleNet(std::shared_ptr<torch::nn::Module> module) : module_(std::move(module)) {}

 private:
  std::shared_ptr<torch::nn::Module> module_;
  std::vector<std::shared_ptr<torch::nn::Module>> frozen_;
};

}  // namespace flowtrain::nets
