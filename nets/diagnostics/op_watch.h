#pragma once
// Observes every operation of forward and backward passes of any net through callbacks of at::RecordFunction: its place
// in the net, and the first operation whose numbers stop being finite.

#include <ATen/record_function.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Returns the layer that a parameter belongs to: its name without the last part, "layer3.0.conv1"; a name of one part
/// is returned whole.
std::string layer_of(const std::string& parameter);

/// The layer whose parameters an operation uses, see layer_of(). An operation of a backward pass has the place of the
/// forward operation whose gradients it computes.
struct OpPlace {
  std::string layer;
  bool after =
      true;  ///< it uses no parameters (a ReLU, say), and `layer` is the last one before; empty: none came before
};

/// One operation under way, or a scope. A watcher derives from it what it needs at the end.
struct OpFrame : at::ObserverContext {
  at::RecordScope kind = at::RecordScope::FUNCTION;
  std::string name;
  OpPlace place;
};

/// Follows the operations of a thread, and of backward passes that it starts. Callbacks must ask for inputs and for the
/// scopes FUNCTION, BACKWARD_FUNCTION and USER_SCOPE.
class OpPlaces {
 public:
  /// Layers are found by `parameters`.
  explicit OpPlaces(const NamedTensors& parameters);

  /// Begins an operation; fills in `frame`, which must stay where it is.
  void enter(const at::RecordFunction& call, OpFrame& frame);
  /// Ends an operation.
  void leave(const OpFrame& frame);

  /// Returns whether a backward pass is under way.
  bool goes_backward() const;
  /// Returns the operations under way, outermost first.
  const std::vector<OpFrame*>& under_way() const { return under_way_; }

 private:
  OpPlace own_place(const at::RecordFunction& call) const;
  OpPlace place_of(const at::RecordFunction& call);

  std::map<const c10::StorageImpl*, std::string> layers_;
  std::map<std::int64_t, OpPlace> by_sequence_;
  std::vector<OpFrame*> under_way_;
  std::string last_layer_;
};

/// Calls watcher.enter(call), whose result it keeps, at the beginning of each operation and scope of `scopes` that this
/// thread runs during its lifetime, and watcher.leave(call, result) at its end; also in backward passes that this
/// thread starts, and waits for, on another one. Callbacks of LibTorch are plain functions, so only one watcher of each
/// type is called at a time.
template <class Watcher>
class OpCallbacks {
 public:
  /// The calls have inputs at their beginnings and, with `outputs`, outputs at their ends.
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
  std::string operation;  ///< the name in ATen, "aten::addmm"
  /// The outermost RECORD_USER_SCOPE that it ran in; "backward" in a backward pass.
  std::string scope;
  OpPlace place;
  at::Tensor made;  ///< a copy of its first result that is not finite
};

/// Checks all operations that this thread runs during its lifetime, and those of backward passes that it starts. They
/// are slow then, but compute the same. Only one may exist at a time.
class OpWatch {
 public:
  /// Layers are found by `parameters`. `forward_only`: operations of backward passes do not count.
  explicit OpWatch(const NamedTensors& parameters, bool forward_only = false);
  ~OpWatch();
  OpWatch(const OpWatch&) = delete;

  /// Returns the first one in the order of execution; nothing if all was finite so far, or was not finite from the
  /// beginning. Infinities that are asked for (a mask's fill value) do not count, but a NaN that they cause does.
  const std::optional<NonFiniteOp>& first() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::nets
