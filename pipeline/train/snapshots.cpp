#include "pipeline/train/snapshots.h"

namespace flowtrain {

void Snapshots::save(SnapshotReason reason, const std::vector<std::string>& links,
                     const std::function<void()>& before) {
  const bool is_new = !has_newest() || reason == SnapshotReason::best || state.validation_pending;
  if (!branch || !is_new) return;
  if (reason == SnapshotReason::period && branch->leaves_out(state.iteration)) return;
  before();
  const Profile::At at(profile, Phase::snapshot);
  hooks(HookEvent::snapshot_begin);
  hooks.save();
  branch->save(learner, state, links, loggers.wait_for_written());
  saved = state.iteration;
  hooks(HookEvent::snapshot_end);
}

}  // namespace flowtrain
