#pragma once
// The observers of a training step: the profile and the hooks.

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nets/tensors.h"
#include "stages/hooks/hooks.h"
#include "stages/loader/slab.h"
#include "stages/model/learner_spec.h"
#include "stages/trace/profile.h"

namespace flowtrain {

class OpTimes;

/// Waits until a device has done its pending work; the CPU has none.
void settle(c10::Device where);

/// Reports phases to the spec's profile, and calls its hooks at events with tensors; without observers it does nothing.
class StepObservers {
 public:
  explicit StepObservers(const LearnerSpec& spec);
  ~StepObservers();

  /// Times each operation while the profile records. `parameters` give the layers.
  void begin_iteration(const nets::NamedTensors& parameters);
  /// Counts the device's work until the end of `body` as part of the phase with --profile. Without it no device is ever
  /// waited for, so the host does not know the phase and reports nothing.
  template <class Body>
  void during(Phase phase, Body body) const {
    const Profile::At now(where_.is_cpu() || waits_ ? profile_ : nullptr, phase);
    Profile::StreamSpan there(profile_, phase);
    body();
    there.end();
    if (waits_) settle(where_);
  }

  /// Returns whether hooks listen to the event.
  bool look(HookEvent event) const { return hooks_ && hooks_->wants(event); }
  /// Calls the hooks of HookEvent::batch. `slab` has the batch's rows.
  void show_batch(const Slab& slab, nets::NamedTensors& batch);
  /// Calls the hooks of another event, which see `tensors` as `*seen` of their context; HookEvent::loss follows the
  /// last batch.
  template <class Tensors>
  void show(HookEvent event, Tensors* HookContext::*seen, Tensors& tensors) {
    if (!look(event)) return;
    hooks_->context().*seen = &tensors;
    hooks_->call(event);
    hooks_->context().*seen = nullptr;
  }

 private:
  c10::Device where_;
  Profile* profile_;
  bool waits_;  // waits for the device at the end of each phase
  Hooks* hooks_;
  std::vector<std::uint64_t> ids_;     // ids of the micro-batch's rows
  std::unique_ptr<OpTimes> op_times_;  // set while the profile records
};

}  // namespace flowtrain
