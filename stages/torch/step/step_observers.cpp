#include "stages/torch/step/step_observers.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string_view>

#include "nets/diagnostics/op_watch.h"

namespace flowtrain {

namespace {

struct TimedFrame : nets::OpFrame {
  Profile::Clock::time_point begin;
  double inner_s = 0;  // time of operations that it called
};

// "autograd::engine::evaluate_function: AddmmBackward0" and "AddmmBackward0" mean the same.
std::string short_name(const std::string& name) {
  constexpr std::string_view evaluation = "autograd::engine::evaluate_function: ";
  return name.starts_with(evaluation) ? name.substr(evaluation.size()) : name;
}

}  // namespace

/// Reports to a profile all operations of this thread, and of backward passes that it starts, while it lives. It waits
/// for a device after each of them, so that each has its own time. One at a time.
class OpTimes {
 public:
  /// `parameters` give the layers.
  OpTimes(Profile& to, const nets::NamedTensors& parameters, c10::Device on)
      : profile(to), places(parameters), where(on) {}

  std::unique_ptr<TimedFrame> enter(const at::RecordFunction& call) {
    if (!profile.recording() || profile.is_at(Phase::validation)) return nullptr;
    auto frame = std::make_unique<TimedFrame>();
    places.enter(call, *frame);
    frame->begin = Profile::Clock::now();
    return frame;
  }

  void leave(const at::RecordFunction&, const at::ObserverContext& context) {
    const auto& frame = static_cast<const TimedFrame&>(context);
    settle(where);
    const auto end = Profile::Clock::now();
    const double whole_s = std::chrono::duration<double>(end - frame.begin).count();
    const bool backward = places.goes_backward();
    places.leave(frame);
    if (!places.under_way().empty()) static_cast<TimedFrame*>(places.under_way().back())->inner_s += whole_s;
    if (frame.kind == at::RecordScope::USER_SCOPE) return;  // phases tell more
    const bool passes = profile.is_at(Phase::forward) || profile.is_at(Phase::backward);
    profile.add({short_name(frame.name), passes ? frame.place.layer : std::string(), backward, frame.begin, end,
                 whole_s - frame.inner_s});
  }

  Profile& profile;
  nets::OpPlaces places;
  c10::Device where;
  const nets::OpCallbacks<OpTimes> callbacks{
      *this, false, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}};
};

void settle(c10::Device where) {
  if (!where.is_cpu()) c10::impl::VirtualGuardImpl(where.type()).synchronizeDevice(where.index());
}

StepObservers::StepObservers(const LearnerSpec& spec)
    : where_(spec.process.device),
      profile_(spec.process.profile),
      waits_(profile_ && profile_->detailed()),
      hooks_(spec.process.hooks) {}
StepObservers::~StepObservers() = default;

void StepObservers::begin_iteration(const nets::NamedTensors& parameters) {
  if (profile_ && profile_->recording() != (op_times_ != nullptr))
    op_times_ = profile_->recording() ? std::make_unique<OpTimes>(*profile_, parameters, where_) : nullptr;
}

void StepObservers::show_batch(const Slab& slab, nets::NamedTensors& batch) {
  if (look(HookEvent::batch) || look(HookEvent::loss)) {
    ids_.clear();
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    hooks_->context().samples = ids_;
  }
  show(HookEvent::batch, &HookContext::batch, batch);
}

}  // namespace flowtrain
