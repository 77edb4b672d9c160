#pragma once
// A look at every operation of forward and backward passes, whatever the net is made of: where in the net it is, as
// callbacks of at::RecordFunction meet it, and where numbers stop being finite.

#include <ATen/record_function.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The layer that a parameter belongs to: its name without the last part, "layer3.0.conv1"; of a name of one part
/// itself.
std::string layer_of(const std::string& parameter);

/// Whose parameters an operation uses, see layer_of. In a backward pass: that of the operation in forward whose
/// gradients it computes.
struct OpPlace {
  std::string layer;
  bool after =
      true;  ///< it uses no parameters (a ReLU, say), and `layer` is the last one before; empty: none was before
};

/// One operation under way, or a scope. Who watches derives from it what is to be known at its end.
struct OpFrame : at::ObserverContext {
  at::RecordScope kind = at::RecordScope::FUNCTION;
  std::string name;
  OpPlace place;
};

/// Follows the operations of a thread, and of backward passes that it starts. Callbacks must ask for inputs, of the
/// scopes FUNCTION, BACKWARD_FUNCTION and USER_SCOPE.
class OpPlaces {
 public:
  /// `parameters` tell the layers.
  explicit OpPlaces(const NamedTensors& parameters);

  /// At its beginning; fills in `frame`, which must stay where it is.
  void enter(const at::RecordFunction& call, OpFrame& frame);
  /// At its end.
  void leave(const OpFrame& frame);

  /// Whether a backward pass is under way.
  bool goes_backward() const;
  /// Those under way, outermost first.
  const std::vector<OpFrame*>& under_way() const { return under_way_; }

 private:
  OpPlace own_place(const at::RecordFunction& call) const;
  OpPlace place_of(const at::RecordFunction& call);

  std::map<const c10::StorageImpl*, std::string> layers_;
  std::map<std::int64_t, OpPlace> by_sequence_;
  std::vector<OpFrame*> under_way_;
  std::string last_layer_;
};

/// While it lives, calls watcher.enter(call), whose result it keeps, at the beginning of each operation and scope of
/// `scopes` that this thread runs, and watcher.leave(call, result) at its end; also in backward passes that this thread
/// starts, and waits for, on another one. Callbacks of LibTorch are plain functions: of one type of watchers only one
/// is called at a time.
template <class Watcher>
class OpCallbacks {
 public:
  /// The calls tell inputs at their beginnings and, with `outputs`, outputs at their ends.
  OpCallbacks(Watcher& watcher, bool outputs, std::initializer_list<at::RecordScope> scopes) {
    current = &watcher;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(on_enter, on_leave).needsInputs(true).needsOutputs(outputs).scopes(scopes));
  }
  ~OpCallbacks() {
    at::removeCallback(handle_);
    current = nullptr;
  }
  OpCallbacks(const OpCallbacks&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> on_enter(const at::RecordFunction& call) {
    if (!current) return nullptr;
    return current->enter(call);
  }
  static void on_leave(const at::RecordFunction& call, at::ObserverContext* context) {
    if (current && context) current->leave(call, *context);
  }

  static inline Watcher* current = nullptr;
  at::CallbackHandle handle_ = 0;
};

/// Calls `visit` with the tensors among an operation's inputs or outputs, and in lists of them.
template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return visit(value.toTensor());
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  else if (value.isList())
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor()) visit(item.toTensor());
}

/// An operation that made infinities or NaN of numbers that were finite.
struct NonFiniteOp {
  std::string operation;  ///< as ATen calls it, "aten::addmm"
  /// The outermost RECORD_USER_SCOPE that it ran in; "backward" in a backward pass.
  std::string scope;
  OpPlace place;
  at::Tensor made;  ///< a copy of its first result that is not finite
};

/// Checks all operations that this thread runs, and those of backward passes that it starts, while it lives. They are
/// slow then, and compute what they always do. One at a time.
class OpWatch {
 public:
  /// `parameters` tell the layers. `forward_only`: operations of backward passes do not count.
  explicit OpWatch(const NamedTensors& parameters, bool forward_only = false);
  ~OpWatch();
  OpWatch(const OpWatch&) = delete;

  /// The first in the order of execution; nothing where all has been finite so far, or was not from the beginning.
  /// Infinities that are asked for (a mask's fill value) do not count, but what becomes NaN by them does.
  const std::optional<NonFiniteOp>& first() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::nets
