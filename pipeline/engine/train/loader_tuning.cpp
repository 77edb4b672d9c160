#include "pipeline/engine/train/loader_tuning.h"

#include <cmath>
#include <string>

#include "pipeline/base/telemetry/log.h"

namespace flowtrain {

void LoaderTuning::after_iteration(const ThroughputMeter::IterationTime& time, const ConsumerTimes& now) {
  if (!tuner_) return;
  if (!since_change_) since_change_.emplace(loader_, now);
  const auto change =
      tuner_->after(time.waited_s + time.computed_s, time.waited_s, [&] { return judge(since_change_->load(now)); });
  if (change && change->loader != loader_.shape()) loader_.retune(change->loader);
  if (change) since_change_.emplace(loader_, now);
  if (change && change->threads > 0) learner_.set_threads(change->threads);
  if (!tuner_->settled()) return;
  log_result();
  tuner_ = nullptr;
}

void LoaderTuning::log_result() const {
  const auto& [shape, threads] = tuner_->best();
  const auto counted = [](unsigned count, const char* one, const char* several) {
    return concat(count, " ", count == 1 ? one : several);
  };
  const std::string found =
      concat("loader: ", counted(shape.workers, "worker", "workers"), ", ", counted(shape.readers, "reader", "readers"),
             ", ", counted(shape.prefetch, "batch ahead", "batches ahead"),
             threads > 0 ? ", " + counted(threads, "thread to compute", "threads to compute") : std::string());
  if (const double gain = tuner_->gain(); gain > 1)
    log_info(concat(found, "; iterations are ", std::lround(100 * (gain - 1)), " % faster than at the start"));
  else
    log_debug(found);
}

}  // namespace flowtrain
