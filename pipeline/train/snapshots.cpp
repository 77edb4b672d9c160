#include "pipeline/train/snapshots.h"

namespace flowtrain {

void Snapshots::take(SnapshotReason reason, const std::vector<std::string>& links,
                     const std::function<void()>& before) {
  const bool is_new = !has_newest() || reason == SnapshotReason::best || state_.validation_pending;
  if (!branch_ || !is_new) return;
  if (reason == SnapshotReason::period && branch_->leaves_out(state_.iteration)) return;
  before();
  const Profile::At at(profile_, Phase::snapshot);
  hooks_(HookEvent::snapshot_begin);
  hooks_.save();
  branch_->take(learner_, state_, links);
  taken_ = state_.iteration;
  hooks_(HookEvent::snapshot_end);
}

}  // namespace flowtrain
