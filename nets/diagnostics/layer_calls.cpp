#include "nets/diagnostics/layer_calls.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "nets/diagnostics/op_watch.h"

namespace flowtrain::nets {
namespace {

struct LayerWatch {
  explicit LayerWatch(const NamedTensors& parameters) : places(parameters) {
    for (const auto& [name, tensor] : parameters) memory.insert(tensor.storage().unsafeGetStorageImpl());
  }

  std::unique_ptr<OpFrame> enter(const at::RecordFunction& call) {
    auto frame = std::make_unique<OpFrame>();
    places.enter(call, *frame);
    return frame;
  }

  // Operations inside other operations do not count.
  void leave(const at::RecordFunction& call, const at::ObserverContext& context) {
    const auto& frame = static_cast<const OpFrame&>(context);
    places.leave(frame);
    if (!places.under_way().empty() || frame.place.after) return;
    for (const c10::IValue& output : call.outputs())
      each_tensor(output, [&](const at::Tensor& made) {
        const bool is_first = made.defined() && std::exchange(unseen, false);
        // A view of a parameter (a transposed weight) is not yet the layer's output.
        if (is_first && !(made.has_storage() && memory.contains(made.storage().unsafeGetStorageImpl())))
          note(frame, made.sizes().vec());
      });
    unseen = true;
  }

  // A layer of several operations (a product, then the bias) gives the output of the last one.
  void note(const OpFrame& frame, std::vector<std::int64_t> shape) {
    const std::string_view name = frame.name;
    const bool goes_on = last == frame.place.layer;
    last = frame.place.layer;
    const auto found = std::ranges::find(calls, last, &LayerCall::layer);
    if (found == calls.end())
      calls.push_back({last, std::string(name.substr(name.rfind(':') + 1)), std::move(shape)});
    else if (goes_on && found + 1 == calls.end())
      found->shape = std::move(shape);
  }

  OpPlaces places;
  std::set<const c10::StorageImpl*> memory;  // memory of parameters
  std::vector<LayerCall> calls;
  std::string last;    // the last layer
  bool unseen = true;  // no output of the operation has been seen
  const OpCallbacks<LayerWatch> callbacks{*this, true, {at::RecordScope::FUNCTION}};
};

}  // namespace

std::vector<LayerCall> layer_calls(const NamedTensors& parameters, const std::function<void()>& pass) {
  LayerWatch watch(parameters);
  pass();
  return std::move(watch.calls);
}

}  // namespace flowtrain::nets
