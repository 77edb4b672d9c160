#include "pipeline/session/resume.h"

#include <algorithm>

#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/train/policies.h"
#include "pipeline/train/snapshot_branch.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// Parts that a snapshot was made without begin anew, if that was asked for.
void check_parts(const RunState& state, const Start& start) {
  auto missing = RunState::parts();
  std::erase_if(missing, [&](auto& part) { return state.has_saved(part); });
  if (missing.empty()) return;
  const auto what = concat(start.snapshot->string(), " was made without: ", join(missing), " (snapshot.save)");
  if (!start.accept_changes)
    throw UserError(ExitCode::snapshot, what, "--accept-changes goes on all the same, and begins these anew");
  log_warn(what + "; these begin anew");
}

}  // namespace

bool rolls_back(const Config& config) {
  return NonFinitePolicy::from(config.table("train")).action == NonFinitePolicy::Action::rollback;
}

RunState initial_state(const Start& start, const std::optional<OpenSnapshot>& snapshot, Group& group) {
  RunState state;
  if (snapshot) {
    state = RunState::from_json(snapshot->state_json);
    check_parts(state, start);
    const Settings& resume = start.config.table("resume");
    if (!resume.boolean("hooks")) state.hooks.clear();
    if (!resume.boolean("schedule")) {
      state.lr_scale = 1;
      state.rollback_limit = RunState::no_limit;
      state.schedules.clear();
    }
    if (state.world != group.size())
      log_info(concat("processes now: ", group.size(), "; when the snapshot was made: ", state.world));
  }
  state = RunState::from_json(group.ask_leader("the state to begin with", [&] { return state.to_json(); }));
  state.saved = start.config.table("snapshot").texts("save");
  state.world = group.size();
  if (!rolls_back(start.config))
    state.rollback_targets.clear();
  else if (state.rollback_targets.empty())
    state.rollback_targets = {state.iteration};
  return state;
}

LearnerState tensors_to_resume(const OpenSnapshot& snapshot, const Config& config) {
  const Settings& resume = config.table("resume");
  LearnerState state = read_tensors(snapshot);
  const auto is_scale = [](const StateTensor& tensor) { return tensor.name.starts_with("scaler."); };
  const bool had_scale = std::any_of(state.optim.begin(), state.optim.end(), is_scale);
  const bool has_scale = config.table("train").text("amp") == "fp16";
  const bool had_optim = std::ranges::any_of(state.optim, [](auto& tensor) { return !is_average(tensor.name); });
  if (!resume.boolean("optim")) state.optim.clear();
  if (resume.boolean("scaler") && resume.boolean("optim") && had_optim && had_scale != has_scale)
    throw config.table("train").error(
        "amp", concat("the snapshot was made with", had_scale ? "" : "out", " fp16's scale of the loss"),
        ExitCode::usage, "resume.scaler = false begins it anew");
  if (!resume.boolean("scaler")) std::erase_if(state.optim, is_scale);
  return state;
}

void take_over(const std::filesystem::path& snapshots, const RunState& state) {
  for (auto& path : set_aside_newer(snapshots, state.iteration)) log_info("set aside: " + path.string());
  for (auto& [link, ranking] : state.best)
    if (const auto& entries = ranking.entries;
        !entries.empty() && std::filesystem::exists(snapshots / snapshot_name(entries.front().iteration)))
      try {
        link_snapshot(snapshots, entries.front().iteration, link);
      } catch (const LinkError& error) {  // on a disk without links, say
        log_warn(error.what());
      }
}

}  // namespace flowtrain
