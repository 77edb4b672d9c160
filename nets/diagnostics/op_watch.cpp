#include "nets/diagnostics/op_watch.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

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

// Gives memory as it is.
bool leaves_unwritten(std::string_view operation) {
  return operation.starts_with("aten::empty") || operation.starts_with("aten::new_empty") ||
         operation.starts_with("aten::resize");
}

struct WatchedFrame : OpFrame {
  Kinds taken;
  bool counts = true;
};

}  // namespace

struct OpWatch::Impl {
  Impl(const NamedTensors& parameters, bool only_forward) : places(parameters), forward_only(only_forward) {}

  // The callbacks are plain functions. Passes go backward on another thread where a device is at work, and this one
  // waits.
  static inline Impl* watching = nullptr;

  static std::unique_ptr<at::ObserverContext> on_enter(const at::RecordFunction& call) {
    if (!watching) return nullptr;
    const at::RecordFunctionGuard unseen(false);
    const at::NoGradGuard no_gradients;
    return watching->enter(call);
  }
  static void on_leave(const at::RecordFunction& call, at::ObserverContext* context) {
    if (!watching || !context) return;
    const at::RecordFunctionGuard unseen(false);
    const at::NoGradGuard no_gradients;
    watching->leave(call, static_cast<WatchedFrame&>(*context));
  }

  std::unique_ptr<WatchedFrame> enter(const at::RecordFunction& call) {
    auto frame = std::make_unique<WatchedFrame>();
    places.enter(call, *frame);
    if (frame->kind == at::RecordScope::FUNCTION) look_at_inputs(call, *frame);
    return frame;
  }

  void leave(const at::RecordFunction& call, const WatchedFrame& frame) {
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
  at::CallbackHandle handle = 0;
};

OpWatch::OpWatch(const NamedTensors& parameters, bool forward_only)
    : impl_(std::make_unique<Impl>(parameters, forward_only)) {
  Impl::watching = impl_.get();
  impl_->handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(Impl::on_enter, Impl::on_leave)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

OpWatch::~OpWatch() {
  at::removeCallback(impl_->handle);
  Impl::watching = nullptr;
}

const std::optional<NonFiniteOp>& OpWatch::first() const { return impl_->found; }

}  // namespace flowtrain::nets
