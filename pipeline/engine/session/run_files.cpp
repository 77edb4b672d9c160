#include "pipeline/engine/session/run_files.h"

#include "pipeline/base/config/run_file.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/pictures/picture_folder.h"
#include "pipeline/engine/session/resume.h"
#include "pipeline/engine/train/hash_journal.h"
#include "sampling/core/settings.h"

namespace flowtrain {

FailedStart::~FailedStart() {
  if (done_) return;
  if (!start_.resumed && start_.folder) start_.folder->discard()();
  interrupt_.set_cleanup({});
}

void FailedStart::succeeded() {
  done_ = true;
  interrupt_.set_cleanup({});
}

Journals::Journals(const Start& start, const RunState& state) {
  const auto& folder = start.folder->path();
  const auto metrics = folder / "metrics.jsonl", bad_samples = folder / "bad_samples.jsonl";
  const auto last_validation = state.validates_again_from() - 1;
  if (start.resumed) {
    for (auto& file : run_files)
      if (file.is_journal) cut_back(folder / file.name, state.iteration, last_validation);
    remove_pictures_after(folder / "pictures", last_validation);
  }
  metrics_.emplace(metrics);
  bad_samples_.emplace(bad_samples);
  if (start.resumed) metrics_->write("resume", {{"iter", state.iteration}});
}

SnapshotPolicy snapshot_policy(const Start& start, const Every& epoch) {
  const SnapshotKeys snapshot = start.config.snapshot();
  SnapshotPolicy policy;
  if (start.folder) policy.folder = start.folder->snapshots();
  policy.keep_last = static_cast<std::size_t>(*snapshot.keep_last);
  policy.best = BestRule::all(start.config);
  policy.keep_every = period(snapshot.keep_every).to_iterations(epoch);
  // The target of a rollback must not depend on the speed of the disk.
  policy.skip_when_busy = *snapshot.when_busy == "skip" && !rolls_back(start.config);
  policy.stop_on_error = *snapshot.on_error == "stop";
  policy.config_toml = to_toml(start.config);
  return policy;
}

}  // namespace flowtrain
