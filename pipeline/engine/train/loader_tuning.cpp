#include "pipeline/engine/train/loader_tuning.h"

#include <cmath>
#include <string>

#include "pipeline/base/telemetry/log.h"

namespace flowtrain {

void LoaderTuning::after_iteration(const Pace::IterationTime& time, const ConsumerTimes& now) {
  if (!tuner) return;
  if (!since_change) since_change.emplace(loader, now);
  const auto change =
      tuner->after(time.waited_s + time.computed_s, time.waited_s, [&] { return judge(since_change->load(now)); });
  if (change && change->loader != loader.shape()) loader.retune(change->loader);
  if (change) since_change.emplace(loader, now);
  if (change && change->threads > 0) learner.set_threads(change->threads);
  if (!tuner->settled()) return;
  tell();
  tuner = nullptr;
}

void LoaderTuning::tell() const {
  const auto& [shape, threads] = tuner->best();
  const auto counted = [](unsigned count, const char* one, const char* several) {
    return concat(count, " ", count == 1 ? one : several);
  };
  const std::string found =
      concat("loader: ", counted(shape.workers, "worker", "workers"), ", ", counted(shape.readers, "reader", "readers"),
             ", ", counted(shape.prefetch, "batch ahead", "batches ahead"),
             threads > 0 ? ", " + counted(threads, "thread to compute", "threads to compute") : std::string());
  if (const double gain = tuner->gain(); gain > 1)
    log_info(concat(found, "; iterations are ", std::lround(100 * (gain - 1)), " % faster than at the start"));
  else
    log_debug(found);
}

}  // namespace flowtrain
