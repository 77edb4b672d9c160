#pragma once
// How long each operation of forward and backward passes takes.

#include <c10/core/Device.h>

#include <memory>

#include "nets/tensors.h"
#include "stages/profile.h"

namespace flowtrain {

/// Tells a profile of all operations that this thread runs, and those of backward passes that it starts, while it
/// lives. A device is waited for after each of them, so that its time is its own. One at a time.
class OpTimes {
 public:
  /// `parameters` tell the layers.
  OpTimes(Profile& profile, const nets::NamedTensors& parameters, c10::Device where);
  ~OpTimes();
  OpTimes(const OpTimes&) = delete;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Waits until a device has done what it was asked for; the CPU always has.
void settle(c10::Device where);

}  // namespace flowtrain
