#pragma once
// Where numbers stop being finite: a look at every operation of forward and backward passes, whatever the net is made
// of.

#include <memory>
#include <optional>
#include <string>

#include "nets/diagnostics/op_places.h"
#include "nets/tensors.h"

namespace flowtrain::nets {

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

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::nets
