#include "pipeline/engine/train/throughput_meter.h"

#include <algorithm>
#include <span>
#include <vector>

namespace flowtrain {

namespace {

// Returns the rank with the slowest link by the ranks' waits for an answer of the store, which runs beside rank 0. If
// most of the others wait long, the slow link is that of rank 0.
int slowest_link(std::span<const double> waits) {
  const auto longest = std::max_element(waits.begin(), waits.end());
  const auto others = waits.subspan(1);
  const auto slow = std::count_if(others.begin(), others.end(), [&](double wait) { return wait > *longest / 2; });
  return others.size() > 1 && 2 * static_cast<std::size_t>(slow) > others.size()
             ? 0
             : static_cast<int>(longest - waits.begin());
}

}  // namespace

void IterationWindow::add(std::uint64_t iterations, double time_s) {
  constexpr double apart_s = 0.25, window_s = 5;
  constexpr std::size_t least = 8;
  latest_ = {iterations, time_s};
  if (time_s - marks_.back().time_s >= apart_s) marks_.push_back(latest_);
  while (marks_.size() > least && time_s - marks_[1].time_s >= window_s) marks_.pop_front();
}

double IterationWindow::iteration_s() const {
  const auto iterations = latest_.iterations - marks_.front().iterations;
  return iterations > 0 ? (latest_.time_s - marks_.front().time_s) / static_cast<double>(iterations) : 0;
}

double ThroughputMeter::remaining_s(std::uint64_t iterations) const {
  const double pause_s = run_iterations_ > 0 ? paused_s_ / static_cast<double>(run_iterations_) : 0;
  return (window_.iteration_s() + pause_s) * static_cast<double>(iterations);
}

void ThroughputMeter::start(double elapsed_before_s) {
  elapsed_before_s_ = elapsed_before_s;
  start_ = since_ = epoch_since_ = Clock::now();
}

void ThroughputMeter::waited(Clock::duration time) {
  const double wait = seconds(time);
  waited_s_ += wait;
  epoch_waited_s_ += wait;
  wait_s_ += wait;
  iteration_.waited_s += wait;
}

void ThroughputMeter::computed(Clock::duration time) {
  compute_s_ += seconds(time);
  iteration_.computed_s += seconds(time);
}

StepTimes ThroughputMeter::times(bool complete) const {
  const double wall_s = seconds(Clock::now() - since_);
  StepTimes times;
  times.samples_per_s = static_cast<double>(samples_) / wall_s;
  times.data_wait = waited_s_ / wall_s;
  times.data_s = waited_s_ / static_cast<double>(iterations_);
  times.step_s = compute_s_ / static_cast<double>(iterations_);
  if (complete) {
    times.p50_s = steps_.percentile_s(0.5);
    times.p99_s = steps_.percentile_s(0.99);
  }
  return times;
}

void ThroughputMeter::compare_ranks(Group& group, StepEvent& event) const {
  if (group.size() == 1) return;
  const auto iterations = static_cast<double>(iterations_);
  const auto size = static_cast<std::size_t>(group.size()), rank = static_cast<std::size_t>(group.rank());
  std::vector<double> all(9 * size);
  const auto of = [&](std::size_t what) { return std::span(all).subspan(what * size, size); };
  of(0)[rank] = event.times.data_wait;
  of(1)[rank] = event.times.data_s;
  of(2)[rank] = (compute_s_ - exposed_s_) / iterations;
  of(3)[rank] = exchange_s_ / iterations;
  of(4)[rank] = exposed_s_ / iterations;
  of(5)[rank] = group.take_link_time();
  of(6)[rank] = static_cast<double>(event.limit.stage);
  of(7)[rank] = event.limit.share;
  of(8)[rank] = event.limit.queue_fill;
  group.sum("the times of all ranks", all);
  const auto most = [&](std::size_t what) { return *std::max_element(of(what).begin(), of(what).end()); };
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < size; ++i)
    if (of(1)[i] + of(2)[i] > of(1)[slowest] + of(2)[slowest]) slowest = i;
  event.ranks.slowest = static_cast<int>(slowest);
  event.ranks.slowest_s = of(1)[slowest] + of(2)[slowest];
  event.ranks.slowest_link = slowest_link(of(5));
  event.ranks.link_s = most(5);
  event.limit.stage = static_cast<Limit>(of(6)[slowest]);
  event.limit.share = of(7)[slowest];
  event.limit.queue_fill = of(8)[slowest];
  event.times.data_wait = most(0);
  event.times.data_s = most(1);
  event.times.step_s = most(2) + of(4)[slowest];
  event.ranks.exchange_s = of(3)[slowest];  // The last rank to come waits for the network alone.
  event.ranks.exchange_hidden = event.ranks.exchange_s > 0 ? 1 - of(4)[slowest] / event.ranks.exchange_s : 0;
}

void ThroughputMeter::begin_report() {
  since_ = Clock::now();
  waited_s_ = compute_s_ = exchange_s_ = exposed_s_ = 0;
  samples_ = iterations_ = 0;
  steps_ = {};
}

Scalars ThroughputMeter::end_epoch() {
  const double wall_s = seconds(Clock::now() - epoch_since_);
  Scalars rates{{"samples_per_s", static_cast<double>(epoch_samples_) / wall_s},
                {"data_wait", epoch_waited_s_ / wall_s}};
  epoch_since_ = Clock::now();
  epoch_waited_s_ = 0;
  epoch_samples_ = 0;
  return rates;
}

}  // namespace flowtrain
