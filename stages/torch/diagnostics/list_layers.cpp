#include "stages/torch/diagnostics/list_layers.h"

#include <ATen/Context.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/types.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "nets/diagnostics/layer_calls.h"
#include "nets/diagnostics/op_watch.h"
#include "nets/package/compiled_net.h"
#include "sampling/core/text.h"
#include "stages/torch/batch.h"

namespace flowtrain {

namespace {

using Calls = std::vector<nets::LayerCall>;

// Keeps a net in eval mode while it lives, and restores buffers and the random generator at its end.
class Trial {
 public:
  Trial(nets::Net& net, at::Device where)
      : net_(net), buffers_(net.buffers()), generator_(at::globalContext().defaultGenerator(where)) {
    for (auto& [name, buffer] : buffers_) kept_.push_back(buffer.clone());
    state_ = generator_.get_state();
    net_.train(false);
  }
  ~Trial() {
    for (auto kept = kept_.begin(); auto& [name, buffer] : buffers_) at::Tensor(buffer).copy_(*kept++);
    generator_.set_state(state_);
    net_.train(true);
  }
  Trial(const Trial&) = delete;

 private:
  const torch::NoGradGuard no_gradients_;
  // A script specialises its code for the first passes that it runs, and these must be those of training.
  const torch::jit::GraphOptimizerEnabledGuard as_written_{false};
  nets::Net& net_;
  const nets::NamedTensors buffers_;
  std::vector<at::Tensor> kept_;
  at::Generator generator_;
  at::Tensor state_;
};

Calls calls_of(nets::Net& net, const SlabLayout& layout, std::int64_t rows, at::Device where) {
  const nets::NamedTensors batch = zero_batch(layout, rows, where);
  return nets::layer_calls(net.parameters(), [&] { net.forward(batch); });
}

// LibTorch computes a linear layer as a product of matrices.
std::string kind_of(const std::string& operation) {
  return operation == "addmm" || operation == "mm" ? "linear" : operation;
}

// A size is linear in the number of rows, or independent: passes over one row and two give the size for a batch.
void extend(Calls& one, const Calls& two, std::int64_t rows) {
  for (auto& call : one) {
    const auto other = std::ranges::find(two, call.layer, &nets::LayerCall::layer);
    if (other == two.end() || other->shape.size() != call.shape.size()) {
      call.shape.clear();
      continue;
    }
    for (std::size_t i = 0; i < call.shape.size(); ++i) call.shape[i] += (rows - 1) * (other->shape[i] - call.shape[i]);
  }
}

Calls calls_of_batch(nets::Net& net, const SlabLayout& layout, at::Device where) {
  const auto rows = static_cast<std::int64_t>(layout.rows());
  std::optional<Calls> calls;
  try {
    calls = calls_of(net, layout, 1, where);
    if (rows > 1) extend(*calls, calls_of(net, layout, 2, where), rows);
    return *calls;
  } catch (const std::exception&) {  // a script, for example, that takes whole batches only
    return calls_of(net, layout, rows, where);
  }
}

}  // namespace

LayerList list_layers(nets::Net& net, const LearnerSpec& spec, const NetSummary& summary) {
  LayerList list;
  for (auto& parameter : summary.parameters) {
    const std::string name = nets::layer_of(parameter.name);
    auto layer = std::ranges::find(list.layers, name, &LayerList::Layer::name);
    if (layer == list.layers.end()) layer = list.layers.insert(layer, LayerList::Layer{.name = name});
    layer->elements += parameter.elements;
    layer->bytes += parameter.bytes;
    if (parameter.optimizer < 0) layer->frozen += parameter.elements;
  }
  if (nets::compiled_net(net)) {
    list.note = "the graph of net.package is compiled into one operation, which hides its layers";
    return list;
  }
  try {
    const at::Device where(spec.process.device);
    const Trial trial(net, where);
    for (auto& call : calls_of_batch(net, spec.data.train_layout, where))
      if (const auto layer = std::ranges::find(list.layers, call.layer, &LayerList::Layer::name);
          layer != list.layers.end())
        layer->kind = kind_of(call.operation), layer->shape = call.shape;
  } catch (const std::exception& error) {
    list.note = "a forward pass over zeros failed: " + first_line(error.what());
  }
  return list;
}

}  // namespace flowtrain
