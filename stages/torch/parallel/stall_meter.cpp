#include "stages/torch/parallel/stall_meter.h"

#include <algorithm>
#include <chrono>

namespace flowtrain {

namespace {

constexpr auto tick = std::chrono::milliseconds(5);
constexpr double tolerance_s = 0.010;  // a scheduler with a little to do is late by less

}  // namespace

StallMeter::StallMeter() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

double StallMeter::take(double most_s) {
  MutexLock lock(mutex_);
  const double taken = std::min(stalled_s_, most_s);
  stalled_s_ -= taken;
  return taken;
}

void StallMeter::watch(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  while (!stop.stop_requested()) {
    const bool before = waiting_;
    const auto begin = Clock::now();
    std::this_thread::sleep_for(tick);
    const double late_s = std::chrono::duration<double>(Clock::now() - begin - tick).count();
    if (late_s < tolerance_s || !(before || waiting_)) continue;
    MutexLock lock(mutex_);
    stalled_s_ += late_s;
  }
}

}  // namespace flowtrain
