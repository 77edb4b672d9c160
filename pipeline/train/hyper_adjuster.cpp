#include "pipeline/train/hyper_adjuster.h"

#include <utility>

namespace flowtrain {

HyperAdjuster::HyperAdjuster(Learner& learner, std::vector<std::string> labels, std::vector<Plateau> plateaus,
                             HookCalls& hooks, RunState& state)
    : learner_(learner), labels_(std::move(labels)), plateaus_(std::move(plateaus)), hooks_(hooks), state_(state) {
  state_.plateaus.resize(plateaus_.size());
}

void HyperAdjuster::begin_iteration(std::uint64_t iteration, const std::vector<Rates>& scheduled) {
  scheduled_ = scheduled;
  auto rates = adjusted();
  hooks_.begin_iteration(iteration, rates);
  use(std::move(rates));
}

void HyperAdjuster::lower() { use(adjusted()); }

void HyperAdjuster::enter(const Figures& figures) {
  for (std::size_t i = 0; i < plateaus_.size(); ++i) plateaus_[i].enter(state_.plateaus[i], figures);
}

void HyperAdjuster::append_rates(Figures& figures) const {
  for (std::size_t i = 0; used_.size() > 1 && i < used_.size(); ++i)
    figures.emplace_back("lr." + labels_[i], used_[i].lr);
}

std::vector<Rates> HyperAdjuster::adjusted() const {
  auto rates = scheduled_;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i].lr *= state_.lr_scale;
    for (std::size_t j = 0; j < plateaus_.size(); ++j) plateaus_[j].apply(state_.plateaus[j], labels_[i], rates[i]);
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
