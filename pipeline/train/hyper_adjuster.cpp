#include "pipeline/train/hyper_adjuster.h"

#include <stdexcept>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/say.h"

namespace flowtrain {

HyperAdjuster::HyperAdjuster(Learner& learner, std::vector<std::string> labels, std::vector<StatefulSchedule> schedules,
                             HookCalls& hooks, RunState& state)
    : learner_(learner), labels_(std::move(labels)), schedules_(std::move(schedules)), hooks_(hooks), state_(state) {
  const auto stored = std::exchange(state_.schedules, {});  // what no schedule takes is forgotten
  for (auto& [key, optim, target, schedule] : schedules_) try {
      if (const auto found = stored.find(key); found != stored.end()) schedule->restore(found->second);
      state_.schedules[key] = schedule->state();
    } catch (const std::exception& error) {
      throw UserError(ExitCode::snapshot, say("the snapshot's state of the schedule '", key, "': ", error.what()),
                      "resume.schedule = false begins anew");
    }
}

void HyperAdjuster::begin_iteration(std::uint64_t iteration, const std::vector<Rates>& scheduled) {
  iteration_ = iteration;
  scheduled_ = scheduled;
  auto rates = adjusted();
  hooks_.begin_iteration(iteration, rates);
  use(std::move(rates));
}

void HyperAdjuster::lower() { use(adjusted()); }

void HyperAdjuster::enter(const Figures& figures) {
  for (auto& [key, optim, target, schedule] : schedules_) {
    schedule->enter(figures, state_.iteration);
    state_.schedules[key] = schedule->state();
  }
}

void HyperAdjuster::append_rates(Figures& figures) const {
  for (std::size_t i = 0; used_.size() > 1 && i < used_.size(); ++i)
    figures.emplace_back("lr." + labels_[i], used_[i].lr);
}

std::vector<Rates> HyperAdjuster::adjusted() const {
  auto rates = scheduled_;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i].lr *= state_.lr_scale;
    for (auto& schedule : schedules_) schedule.apply(labels_[i], iteration_, rates[i]);
  }
  return rates;
}

// Most iterations have the hyper-parameters of the one before.
void HyperAdjuster::use(std::vector<Rates> rates) {
  if (rates == used_) return;
  used_ = std::move(rates);
  learner_.set_rates(used_);
}

}  // namespace flowtrain
