#pragma once
// Who looks at a training step while it is made: the profile and the hooks.

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

/// Waits until a device has done what it was asked for; the CPU always has.
void settle(c10::Device where);

/// Tells the spec's profile of phases, and calls its hooks where tensors are at hand; where nobody looks it does
/// nothing.
class StepObservers {
 public:
  explicit StepObservers(const LearnerSpec& spec);
  ~StepObservers();

  /// Each operation is timed while the profile records. `parameters` tell the layers.
  void begin_iteration(const nets::NamedTensors& parameters);
  /// What a device has been asked for by the end of `body` is part of the phase with --profile. Without it a device is
  /// never waited for, so the host knows nothing of the phase and tells nothing.
  template <class Body>
  void during(Phase phase, Body body) const {
    const Profile::At now(where_.is_cpu() || waits_ ? profile_ : nullptr, phase);
    Profile::StreamSpan there(profile_, phase);
    body();
    there.end();
    if (waits_) settle(where_);
  }

  /// Whether hooks want to be called there.
  bool look(HookEvent event) const { return hooks_ && hooks_->wants(event); }
  /// Calls the hooks of HookEvent::batch. `slab` has the batch's rows.
  void show_batch(const Slab& slab, nets::NamedTensors& batch);
  /// Calls the hooks of another event, which see `tensors` as `*seen` of their context: of HookEvent::loss for the
  /// batch that was shown last.
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
  bool waits_;  // for the device, at the end of each phase
  Hooks* hooks_;
  std::vector<std::uint64_t> ids_;     // of the micro-batch's rows
  std::unique_ptr<OpTimes> op_times_;  // while the profile records
};

}  // namespace flowtrain
