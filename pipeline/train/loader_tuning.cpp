#include "pipeline/train/loader_tuning.h"

#include <cmath>
#include <string>

#include "pipeline/telemetry/log.h"

namespace flowtrain {

void LoaderTuning::after_iteration(const Pace::IterationTime& time) {
  if (!tuner_) return;
  const auto change = tuner_->after(time.waited_s + time.computed_s, time.waited_s);
  if (change && change->loader != line_.shape()) line_.retune(change->loader);
  if (change && change->threads > 0) learner_.set_threads(change->threads);
  if (!tuner_->settled()) return;
  tell();
  tuner_ = nullptr;
}

void LoaderTuning::tell() const {
  const auto& [line, threads] = tuner_->best();
  const std::string found = concat("data line: ", line.workers, " workers, ", line.readers, " readers, ", line.prefetch,
                                   " batches ahead", threads > 0 ? concat(", ", threads, " threads to compute") : "");
  if (const double gain = tuner_->gain(); gain > 1)
    log_info(concat(found, "; iterations are ", std::lround(100 * (gain - 1)), " % faster than at the start"));
  else
    log_debug(found);
}

}  // namespace flowtrain
