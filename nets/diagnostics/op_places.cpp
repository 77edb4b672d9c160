#include "nets/diagnostics/op_places.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace flowtrain::nets {

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

// By its inputs.
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

// An operation that others are made of (linear: t, addmm) lends them its place, as does one of forward to its
// gradients' computation, which bears the same sequence number.
OpPlace OpPlaces::place_of(const at::RecordFunction& call) {
  OpPlace own = own_place(call);
  const bool backward = goes_backward() || call.scope() == at::RecordScope::BACKWARD_FUNCTION;
  if (own.after && !under_way_.empty()) own = under_way_.back()->place;
  if (backward) {
    const auto forward = by_sequence_.find(call.seqNr());
    if (call.scope() != at::RecordScope::BACKWARD_FUNCTION || forward == by_sequence_.end()) return own;
    if (!under_way_.empty())
      under_way_.back()->place = forward->second;  // where gradients of several paths are added up
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

}  // namespace flowtrain::nets
