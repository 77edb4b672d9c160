#include "pipeline/engine/train/snapshots.h"

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/engine/train/hash_journal.h"
#include "pipeline/engine/train/pace.h"
#include "stages/trace/clock.h"

namespace flowtrain {

bool Snapshots::wanted() const {
  if (!branch) return false;
  return (interrupt && interrupt->snapshot_requests() > answered) ||
         (every_s > 0 && seconds_since(saved_at) >= every_s);
}

void Snapshots::save(SnapshotReason reason, const std::vector<std::string>& links,
                     const std::function<void()>& before) {
  const bool is_new = !has_newest() || reason == SnapshotReason::best || state.validation_pending;
  if (!branch) return;
  if (reason == SnapshotReason::period && is_new && branch->leaves_out(state.iteration)) return;
  saved_at = std::chrono::steady_clock::now();
  if (interrupt) answered = interrupt->snapshot_requests();
  if (!is_new) return;
  before();
  const Profile::At at(profile, Phase::snapshot);
  hooks(HookEvent::snapshot_begin);
  hooks.save();
  state.elapsed_s = pace.elapsed_s();  // a best snapshot is saved within a validation, whose time counts, too
  const std::function<void()> hashes = journal ? journal->wait_for_written() : [] {};
  branch->save(learner, state, links, [hashes, lines = loggers.wait_for_written()] {
    lines();
    hashes();
  });
  saved = state.iteration;
  hooks(HookEvent::snapshot_end);
}

}  // namespace flowtrain
