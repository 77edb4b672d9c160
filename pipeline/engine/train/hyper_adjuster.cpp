#include "pipeline/engine/train/hyper_adjuster.h"

#include <stdexcept>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

HyperAdjuster::HyperAdjuster(std::vector<std::string> labels, std::vector<StatefulSchedule> schedules, HookCalls& hooks,
                             const RunProgress& progress, HyperState& state)
    : labels_(std::move(labels)), schedules_(std::move(schedules)), hooks_(hooks), progress_(progress), state_(state) {
  const auto stored = std::exchange(state_.schedules, {});  // A state without a schedule is forgotten.
  for (auto& [key, optim, target, schedule] : schedules_) try {
      if (const auto found = stored.find(key); found != stored.end()) schedule->restore(found->second);
      state_.schedules[key] = schedule->state();
    } catch (const std::exception& error) {
      throw UserError(ExitCode::snapshot, concat("the snapshot's state of the schedule '", key, "': ", error.what()),
                      "resume.schedule = false begins anew");
    }
}

bool HyperAdjuster::begin_iteration(std::uint64_t iteration, const std::vector<HyperParameters>& scheduled) {
  iteration_ = iteration;
  scheduled_ = scheduled;
  auto hyper = adjusted();
  hooks_.begin_iteration(iteration, hyper);
  return use(std::move(hyper));
}

bool HyperAdjuster::lower(double factor) {
  state_.lr_scale *= factor;
  return use(adjusted());
}

void HyperAdjuster::record(const Scalars& scalars) {
  for (auto& [key, optim, target, schedule] : schedules_) {
    schedule->record(scalars, progress_.iteration);
    state_.schedules[key] = schedule->state();
  }
}

void HyperAdjuster::append_hyper(Scalars& scalars) const {
  for (std::size_t i = 0; used_.size() > 1 && i < used_.size(); ++i)
    scalars.emplace_back("lr." + labels_[i], used_[i].lr);
}

std::vector<HyperParameters> HyperAdjuster::adjusted() const {
  auto hyper = scheduled_;
  for (std::size_t i = 0; i < hyper.size(); ++i) {
    hyper[i].lr *= state_.lr_scale;
    for (auto& schedule : schedules_) schedule.apply(labels_[i], iteration_, hyper[i]);
  }
  return hyper;
}

bool HyperAdjuster::use(std::vector<HyperParameters> hyper) {
  if (hyper == used_) return false;
  used_ = std::move(hyper);
  return true;
}

}  // namespace flowtrain
