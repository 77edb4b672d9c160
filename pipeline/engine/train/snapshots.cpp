#include "pipeline/engine/train/snapshots.h"

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/engine/train/hash_journal.h"
#include "pipeline/engine/train/throughput_meter.h"
#include "stages/trace/clock.h"

namespace flowtrain {

bool Snapshots::wanted() const {
  if (!run_.branch) return false;
  return (run_.interrupt && run_.interrupt->snapshot_requests() > answered_) ||
         (run_.every_s > 0 && seconds_since(saved_at_) >= run_.every_s);
}

void Snapshots::look_at_folder() const {
  if (run_.branch) run_.branch->look_at_folder();
}

void Snapshots::save(SnapshotReason reason, const std::vector<std::string>& links,
                     const std::function<void()>& before) {
  const bool is_new = !has_newest() || reason == SnapshotReason::best || state_.validations.due;
  if (!run_.branch) return;
  if (reason == SnapshotReason::period && is_new && run_.branch->leaves_out(state_.iteration)) return;
  saved_at_ = std::chrono::steady_clock::now();
  if (run_.interrupt) answered_ = run_.interrupt->snapshot_requests();
  if (!is_new) return;
  before();
  const Profile::At at(run_.profile, Phase::snapshot);
  run_.hooks(HookEvent::snapshot_begin);
  run_.hooks.save();
  state_.elapsed_s = run_.meter.elapsed_s();  // The best snapshot is saved within a validation, whose time counts, too.
  const std::function<void()> hashes = run_.journal ? run_.journal->wait_for_written() : [] {};
  run_.branch->save(run_.learner, state_, links, [hashes, lines = run_.loggers.wait_for_written()] {
    lines();
    hashes();
  });
  saved_ = state_.iteration;
  run_.hooks(HookEvent::snapshot_end);
}

void Snapshots::link(std::uint64_t iteration, const std::vector<std::string>& links) {
  if (run_.branch && !links.empty()) run_.branch->link(iteration, state_, links);
}

bool Snapshots::load(ValidationReplica& replica, std::uint64_t iteration, bool averaged) {
  return run_.branch && run_.branch->load(replica, iteration, averaged);
}

}  // namespace flowtrain
