#include "stages/torch/step/batch_statistics.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "nets/layers/module_net.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "stages/torch/batch.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step/learner_net.h"
#include "stages/torch/step/parameter_groups.h"

namespace flowtrain {

namespace {

// Keeps the statistics of layers that no batch has reached, such as a GAN's generator while its discriminator
// classifies.
void keep_unreached(const std::vector<StateTensor>& before, std::vector<StateTensor>& model) {
  constexpr std::string_view counter = "num_batches_tracked";
  const auto is_zero = [](const StateTensor& tensor) {
    return std::ranges::all_of(tensor.bytes, [](auto byte) { return byte == decltype(byte){}; });
  };
  std::set<std::string> unreached;
  for (auto& tensor : model)
    if (tensor.name.ends_with(counter) && is_zero(tensor)) {
      const std::string layer = tensor.name.substr(0, tensor.name.size() - counter.size());
      unreached.insert({layer + "running_mean", layer + "running_var"});
    }
  for (auto& tensor : model)
    if (unreached.contains(tensor.name)) tensor = *std::ranges::find(before, tensor.name, &StateTensor::name);
}

}  // namespace

struct BatchStatistics::Impl {
  Impl(const LearnerSpec& spec, const std::vector<StateTensor>& model)
      : before(model),
        net(make_learner_net(spec)),
        weights(*net, at::Device(spec.process.device), false),
        batches(make_train_batches(spec, spec.data.train_layout)) {
    auto* const modules = dynamic_cast<nets::ModuleNet*>(net.get());
    if (!modules)
      throw spec.tables.net.error("name",
                                  "the batch normalisation of a script or package cannot recompute its statistics",
                                  ExitCode::usage, "--keep-statistics takes the mean of the snapshots' own");
    weights.load(model);
    net->freeze(assign_parameters(weights.parameters(), spec.tables.optims, spec.tables.groups).frozen);
    net->train(true);
    layers = modules->restart_batch_norm();
    torch::manual_seed(Stream(spec.process.seed, Purpose::net, 0).next64());  // the seed is for dropout
  }

  const std::vector<StateTensor>& before;
  std::shared_ptr<nets::Net> net;
  mutable Weights weights;
  std::unique_ptr<BatchAdapter> batches;
  std::size_t layers = 0;
};

BatchStatistics::BatchStatistics(const LearnerSpec& spec, const std::vector<StateTensor>& model)
    : impl_(std::make_unique<Impl>(spec, model)) {}
BatchStatistics::~BatchStatistics() = default;

std::size_t BatchStatistics::layers() const { return impl_->layers; }

void BatchStatistics::add(Slab& slab) {
  const at::NoGradGuard no_gradients;
  impl_->net->forward((*impl_->batches)(slab));
  if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
}

std::vector<StateTensor> BatchStatistics::model() const {
  LearnerState state;
  impl_->weights.copy({}, state);
  state.settle();
  keep_unreached(impl_->before, state.model);
  return std::move(state.model);
}

}  // namespace flowtrain
