#include "pipeline/train/hyper_adjuster.h"

#include <stdexcept>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/say.h"

namespace flowtrain {

HyperAdjuster::HyperAdjuster(Learner& learner, std::vector<std::string> labels, std::vector<StatefulSchedule> schedules,
                             HookCalls& hooks, RunState& state)
    : learner_(learner), labels_(std::move(labels)), schedules_(std::move(schedules)), hooks_(hooks), state_(state) {
  state_.schedules.resize(schedules_.size());
  for (std::size_t i = 0; i < schedules_.size(); ++i) try {
      if (!state_.schedules[i].empty()) schedules_[i].schedule->restore(state_.schedules[i]);
    } catch (const std::invalid_argument& error) {
      throw UserError(ExitCode::snapshot, say("the snapshot's state of schedule ", i, ": ", error.what()));
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
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    schedules_[i].schedule->enter(figures);
    state_.schedules[i] = schedules_[i].schedule->state();
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
