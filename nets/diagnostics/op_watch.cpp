#include "nets/diagnostics/op_watch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace flowtrain::nets {
namespace {

struct Kinds {
  bool nan = false, infinite = false;
};

Kinds kinds_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.layout() != at::kStrided || tensor.is_meta() ||
      tensor.numel() == 0)
    return {};
  if (at::isfinite(tensor).all().item<bool>()) return {};
  return {at::isnan(tensor).any().item<bool>(), at::isinf(tensor).any().item<bool>()};
}

// Returns whether the operation gives memory without writing to it.
bool leaves_unwritten(std::string_view operation) {
  return operation.starts_with("aten::empty") || operation.starts_with("aten::new_empty") ||
         operation.starts_with("aten::resize");
}

struct WatchedFrame : OpFrame {
  Kinds taken;
  bool counts = true;
};

}  // namespace

std::string layer_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

OpPlaces::OpPlaces(const NamedTensors& parameters) {
  for (const auto& [name, tensor] : parameters)
    layers_.emplace(tensor.storage().unsafeGetStorageImpl(), layer_of(name));
}

void OpPlaces::enter(const at::RecordFunction& call, OpFrame& frame) {
  frame.kind = call.scope();
  frame.name = call.name();
  frame.place = place_of(call);
  under_way_.push_back(&frame);
}

void OpPlaces::leave(const OpFrame& frame) { std::erase(under_way_, &frame); }

// Finds the place from the operation's own inputs.
OpPlace OpPlaces::own_place(const at::RecordFunction& call) const {
  OpPlace place;
  if (call.scope() != at::RecordScope::FUNCTION) return place;
  for (const c10::IValue& input : call.inputs())
    each_tensor(input, [&](const at::Tensor& tensor) {
      if (!place.after || !tensor.defined() || !tensor.has_storage()) return;
      if (const auto layer = layers_.find(tensor.storage().unsafeGetStorageImpl()); layer != layers_.end())
        place = {layer->second, false};
    });
  return place;
}

// An outer operation (linear) lends its place to those inside it (t, addmm), and one of forward lends it to the
// computation of its gradients, which has the same sequence number.
OpPlace OpPlaces::place_of(const at::RecordFunction& call) {
  OpPlace own = own_place(call);
  const bool backward = goes_backward() || call.scope() == at::RecordScope::BACKWARD_FUNCTION;
  if (own.after && !under_way_.empty()) own = under_way_.back()->place;
  if (backward) {
    const auto forward = by_sequence_.find(call.seqNr());
    if (call.scope() != at::RecordScope::BACKWARD_FUNCTION || forward == by_sequence_.end()) return own;
    if (!under_way_.empty())
      under_way_.back()->place = forward->second;  // gradients of several paths are added up here
    return forward->second;
  }
  if (own.after)
    own.layer = last_layer_;
  else
    last_layer_ = own.layer;
  if (call.seqNr() >= 0) by_sequence_[call.seqNr()] = own;
  return own;
}

bool OpPlaces::goes_backward() const {
  return std::any_of(under_way_.begin(), under_way_.end(), [](const OpFrame* frame) {
    return frame->name.starts_with("autograd::engine::evaluate_function");
  });
}

struct OpWatch::Impl {
  Impl(const NamedTensors& parameters, bool only_forward) : places(parameters), forward_only(only_forward) {}

  std::unique_ptr<WatchedFrame> enter(const at::RecordFunction& call) {
    const at::RecordFunctionGuard unseen(false);
    const at::NoGradGuard no_gradients;
    auto frame = std::make_unique<WatchedFrame>();
    places.enter(call, *frame);
    if (frame->kind == at::RecordScope::FUNCTION) look_at_inputs(call, *frame);
    return frame;
  }

  void leave(const at::RecordFunction& call, const at::ObserverContext& context) {
    const at::RecordFunctionGuard unseen(false);
    const at::NoGradGuard no_gradients;
    const auto& frame = static_cast<const WatchedFrame&>(context);
    places.leave(frame);
    if (found || frame.kind != at::RecordScope::FUNCTION || !frame.counts || (forward_only && places.goes_backward()))
      return;
    for (const c10::IValue& output : call.outputs())
      each_tensor(output, [&](const at::Tensor& made) {
        if (found) return;
        const Kinds kinds = kinds_of(made);
        if ((kinds.nan && !frame.taken.nan) || (kinds.infinite && !frame.taken.nan && !frame.taken.infinite))
          found = NonFiniteOp{frame.name, scope(), frame.place, made.detach().clone()};
      });
  }

  void look_at_inputs(const at::RecordFunction& call, WatchedFrame& frame) const {
    frame.counts = !leaves_unwritten(frame.name);
    for (const c10::IValue& input : call.inputs()) {
      if (input.isDouble() && !std::isfinite(input.toDouble())) frame.counts = false;
      each_tensor(input, [&](const at::Tensor& tensor) {
        if (found) return;
        const Kinds kinds = kinds_of(tensor);
        frame.taken.nan |= kinds.nan;
        frame.taken.infinite |= kinds.infinite;
      });
    }
  }

  std::string scope() const {
    if (places.goes_backward()) return "backward";
    for (const OpFrame* frame : places.under_way())
      if (frame->kind == at::RecordScope::USER_SCOPE) return frame->name;
    return {};
  }

  OpPlaces places;
  bool forward_only;
  std::optional<NonFiniteOp> found;
  const OpCallbacks<Impl> callbacks{
      *this, true, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}};
};

OpWatch::OpWatch(const NamedTensors& parameters, bool forward_only)
    : impl_(std::make_unique<Impl>(parameters, forward_only)) {}

OpWatch::~OpWatch() = default;

const std::optional<NonFiniteOp>& OpWatch::first() const { return impl_->found; }

}  // namespace flowtrain::nets
