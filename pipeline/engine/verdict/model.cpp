#include "pipeline/engine/verdict/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flowtrain {

namespace {

// A stage that limits is idle for a few percent of the time, because handing on takes a while. That is no variance.
constexpr double handing_on = 1.04;
constexpr double sharpest = 64;     // exponent of a smooth minimum that is as good as the minimum
constexpr double cores_busy = 0.9;  // share of the cores' time from which the cores limit

// Returns the root of an increasing function between two bounds, or the nearer bound.
template <class Function>
double solve(double low, double high, const Function& is_below) {
  for (int step = 0; step < 40; ++step) (is_below((low + high) / 2) ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

double capacity(const StageLoad& stage) {
  return stage.busy_s > 0 ? stage.threads * stage.samples / stage.busy_s : std::numeric_limits<double>::infinity();
}

// Returns a smooth minimum: exponent 1 adds the stages' times, a greater one comes nearer to the least capacity.
double smooth_minimum(const std::vector<double>& capacities, double exponent) {
  const double least = *std::ranges::min_element(capacities);
  double sum = 0;
  for (const double each : capacities) sum += std::pow(least / each, exponent);
  return least * std::pow(sum, -1 / exponent);
}

// Returns the rate of `threads` threads, each of which works apart for 1 - `serial` of its time, and else in turn.
double closed_network_rate(unsigned threads, double serial) {
  double rate = 0, queue = 0;
  for (unsigned n = 1; n <= threads; ++n) {
    const double at_queue = serial * (1 + queue);
    rate = n / (1 - serial + at_queue);
    queue = rate * at_queue;
  }
  return rate;
}

class Model {
 public:
  explicit Model(const PipelineLoad& load) : load_(load), rate_(load.samples / load.wall_s) {
    for (auto& stage : load.stages) capacities_.push_back(capacity(stage));
    if (const double compute_s = load.wall_s - load.wait_s; compute_s > 0)
      capacities_.push_back(load.samples / compute_s);
    if (!is_bounded()) return;
    exponent_ = solve(1, sharpest, [&](double exponent) {
      return smooth_minimum(capacities_, exponent) < std::min(handing_on * rate_, bound());
    });
  }

  bool is_bounded() const { return !capacities_.empty() && std::isfinite(bound()); }
  double utilisation(std::size_t stage) const { return std::min(1.0, rate_ / capacities_[stage]); }
  double with_thread(const StageLoad& stage, double gain) const {
    auto changed = capacities_;
    changed[static_cast<std::size_t>(&stage - load_.stages.data())] *= gain;
    return within_cores(smooth_minimum(changed, exponent_));
  }
  double with_batch() const {
    const double batches = load_.prefetch + 2;  // Loader::slabs()
    return within_cores(smooth_minimum(capacities_, std::min(sharpest, exponent_ * (batches + 1) / batches)));
  }
  double cores_busy() const { return load_.cpu_s / (load_.cores * load_.wall_s); }

 private:
  double bound() const { return *std::ranges::min_element(capacities_); }
  // Each sample takes as much of the cores as before.
  double within_cores(double rate) const {
    const double speedup = rate / smooth_minimum(capacities_, exponent_);
    return std::max(1.0, std::min(speedup, cores_busy() > 0 ? 1 / cores_busy() : speedup));
  }

  const PipelineLoad& load_;
  const double rate_;
  std::vector<double> capacities_;  // capacities of the stages, then of compute, samples/s
  double exponent_ = sharpest;
};

}  // namespace

const char* to_text(Limit limit) {
  constexpr const char* names[] = {"none", "plan", "read", "sample", "transfer", "compute", "communication", "cores"};
  return names[static_cast<std::size_t>(limit)];
}

const StageLoad* PipelineLoad::find(Limit stage) const {
  const auto found = std::ranges::find(stages, stage, &StageLoad::stage);
  return found == stages.end() ? nullptr : &*found;
}

double gain_of_one_more(unsigned threads, std::optional<double> without_one) {
  if (threads < 2 || !without_one) return 1 + 1.0 / threads;
  const double serial = solve(0, 1, [&](double share) {
    return closed_network_rate(threads - 1, share) / closed_network_rate(threads, share) < *without_one;
  });
  return closed_network_rate(threads + 1, serial) / closed_network_rate(threads, serial);
}

Verdict judge(const PipelineLoad& load) {
  Verdict verdict;
  if (load.samples <= 0 || load.wall_s <= 0) return verdict;
  const Model model(load);
  if (!model.is_bounded()) return verdict;
  const double compute_s = std::max(0.0, load.wall_s - load.wait_s);
  verdict.wait = std::clamp(load.wait_s / load.wall_s, 0.0, 1.0);
  verdict.queue_fill = load.queue_fill;
  if (load.computes && compute_s > 0) verdict.headspace = load.wall_s / compute_s;

  verdict.limit = Limit::compute;
  verdict.share = 1 - verdict.wait;
  for (std::size_t i = 0; i < load.stages.size(); ++i) {
    if (model.utilisation(i) <= verdict.share) continue;
    verdict.limit = load.stages[i].stage;
    verdict.share = model.utilisation(i);
  }
  if (verdict.limit == Limit::compute && load.exchange_s > compute_s / 2) {
    verdict.limit = Limit::communication;
    verdict.share = load.exchange_s / load.wall_s;
  }

  const auto add = [&](const char* change, const char* key, unsigned to, double speedup) {
    verdict.gains.push_back({change, key, to, speedup});
  };
  const auto add_thread = [&](Limit limit, const char* change, const char* key) {
    const StageLoad* const stage = load.find(limit);
    if (!stage) return;
    const double gain = gain_of_one_more(stage->threads, stage->without_one);
    if (verdict.limit == limit) verdict.contended = gain - 1 < 0.5 / stage->threads;
    add(change, key, stage->threads + 1, model.with_thread(*stage, gain));
  };
  add_thread(Limit::sample, "one more worker", "loader.workers");
  add_thread(Limit::read, "one more reader", "loader.readers");
  add("one more batch ahead", "loader.prefetch", load.prefetch + 1, model.with_batch());

  if (verdict.limit == Limit::sample && model.cores_busy() >= cores_busy) {
    verdict.limit = Limit::cores;
    verdict.share = std::min(1.0, model.cores_busy());
  }
  return verdict;
}

}  // namespace flowtrain
