#include "pipeline/train/snapshots.h"

#include "pipeline/verify/hash_journal.h"

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
  const std::function<void()> hashes = journal ? journal->wait_for_written() : [] {};
  branch->save(learner, state, links, [hashes, lines = loggers.wait_for_written()] {
    lines();
    hashes();
  });
  saved = state.iteration;
  hooks(HookEvent::snapshot_end);
}

}  // namespace flowtrain
