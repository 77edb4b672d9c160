#include "pipeline/train/snapshots.h"

#include <doctest/doctest.h>

#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/log.h"
#include "tests/pipeline/scripted_learner.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;
using namespace flowtrain::testing;

TEST_CASE("an iteration has one snapshot, unless more has come of it since") {
  set_console_level(ConsoleLevel::quiet);
  const TempFolder folder;
  SnapshotPolicy policy;
  policy.folder = folder.path() / "snapshots";
  SnapshotBranch branch(policy, nullptr);
  RunState state;
  ScriptedLearner learner;
  HookCalls hooks(nullptr, state, solo_group(), 100, 0);
  Snapshots snapshots{&branch, learner, hooks, nullptr, state};
  CHECK(snapshots.has_newest());
  int asked = 0;
  const auto take = [&](SnapshotReason reason) {
    snapshots.save(reason, {}, [&] { ++asked; });
    return learner.take_calls().size();
  };
  CHECK(take(SnapshotReason::end) == 0);  // nothing was done since the start
  state.iteration = 5;
  CHECK_FALSE(snapshots.has_newest());
  CHECK(take(SnapshotReason::period) == 1);
  CHECK(take(SnapshotReason::end) == 0);
  CHECK(take(SnapshotReason::best) == 1);
  state.validation_pending = true;
  CHECK(take(SnapshotReason::end) == 1);
  CHECK(asked == 3);
  CHECK(branch.finish());
  CHECK(list_snapshots(policy.folder).size() == 1);

  Snapshots nowhere{nullptr, learner, hooks, nullptr, state};
  state.iteration = 6;
  nowhere.save(SnapshotReason::end);
  CHECK(learner.take_calls().empty());
}
