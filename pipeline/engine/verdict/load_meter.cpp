#include "pipeline/engine/verdict/load_meter.h"

#include <time.h>

#include <algorithm>

#include "sampling/core/cpus.h"

namespace flowtrain {

namespace {

StageLoad stage_load(Limit stage, unsigned threads, const StageTimes& times, std::optional<double> without_one = {}) {
  return {stage, threads, static_cast<double>(times.samples), times.busy_s, times.cpu_share(), without_one};
}

}  // namespace

double process_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

LoadMeter::LoadMeter(const Loader& loader, const ConsumerTimes& now)
    : loader_(&loader), times_(loader.times()), consumer_(now), cpu_s_(process_cpu_s()) {}

PipelineLoad LoadMeter::load(const ConsumerTimes& now) const {
  const LoaderTimes times = loader_->times();
  const LoaderShape shape = loader_->shape();
  PipelineLoad load;
  load.wall_s = now.wall_s - consumer_.wall_s;
  load.wait_s = now.wait_s - consumer_.wait_s;
  load.exchange_s = now.exchange_s - consumer_.exchange_s;
  load.samples = static_cast<double>(now.samples - consumer_.samples);
  load.computes = now.computes;
  if (times.asked > times_.asked)
    load.queue_fill = (times.ready - times_.ready) / static_cast<double>(times.asked - times_.asked);
  // The processor's clock does not stop in pauses.
  const double share_paused = load.wall_s / std::max(seconds_since(begin_), 1e-9);
  load.cpu_s = (process_cpu_s() - cpu_s_) * std::min(1.0, share_paused);
  load.cores = usable_cores();
  load.prefetch = shape.prefetch;
  load.stages.push_back(stage_load(Limit::plan, 1, times.plan - times_.plan));
  if (times.read.samples > 0)
    load.stages.push_back(stage_load(Limit::read, shape.readers, times.read - times_.read, times.read_without_one));
  load.stages.push_back(
      stage_load(Limit::sample, shape.workers, times.sample - times_.sample, times.sample_without_one));
  if (times.transfer.samples > 0)
    load.stages.push_back(stage_load(Limit::transfer, 1, times.transfer - times_.transfer));
  return load;
}

}  // namespace flowtrain
