#include "pipeline/engine/session/bad_sample_log.h"

#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/settings.h"

namespace flowtrain {

BadSamples make_bad_sample_log(const Config& config, bool training, const Dataset& dataset, JsonLinesFile* file,
                               bool is_leader) {
  const Settings& data = config.data(training);
  BadSamples::Policy policy;
  policy.split = training ? "train" : "val";
  policy.budget = bad_sample_budget(data, dataset.size());
  if (file) policy.file = file->path().string();
  return BadSamples(dataset, policy, [file, is_leader](const BadSamples::Entry& entry) {
    const BadSample& bad = entry.sample;
    if (entry.tolerated && is_leader) log_warn(concat(entry.text(), "; record ", bad.substitute, " takes its place"));
    if (!file) return;
    file->write({{"iter", entry.iteration},
                 {"epoch", bad.epoch + 1},
                 {"split", entry.split},
                 {"position", bad.position},
                 {"id", bad.id},
                 {"name", entry.name},
                 {"stage", bad.stage},
                 {"reason", bad.reason},
                 {"substitute", bad.substitute}});
  });
}

}  // namespace flowtrain
