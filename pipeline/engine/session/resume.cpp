#include "pipeline/engine/session/resume.h"

#include <algorithm>
#include <map>
#include <set>

#include "pipeline/base/errors/policies.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/rename.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

bool is_scale(const StateTensor& tensor) { return tensor.name.starts_with("scaler."); }

// Refuses a snapshot that lacks parts of the state, unless these are to begin anew.
void check_parts(const RunState& state, const Start& start) {
  auto missing = RunState::parts();
  std::erase_if(missing, [&](auto& part) { return state.has_saved(part); });
  if (missing.empty()) return;
  const auto what = concat(start.snapshot->string(), " was made without: ", join(missing), " (snapshot.save)");
  if (!start.accept_changes)
    throw UserError(ExitCode::snapshot, what, "--accept-changes goes on all the same, and begins these anew");
  log_warn(what + "; these begin anew");
}

// An optimizer's tensors are named "<slot>.<parameter>"; the scale of the loss belongs to no parameter.
void rename_tensors(LearnerState& state, const Settings& resume) {
  try {
    const Renaming renaming({}, resume.texts("rename"));
    std::set<std::string> names;
    const auto rename = [&](StateTensor& tensor, std::size_t begin) {
      tensor.name = tensor.name.substr(0, begin) + renaming.renamed(tensor.name.substr(begin));
      if (!names.insert(tensor.name).second)
        throw UserError(ExitCode::usage, concat("two tensors get the name '", tensor.name, "'"));
    };
    for (auto& tensor : state.model) rename(tensor, 0);
    names.clear();
    for (auto& tensor : state.optim)
      if (!is_scale(tensor)) rename(tensor, tensor.name.find('.') + 1);
  } catch (const UserError& error) {
    throw resume.error("rename", error.what(), error.code(), error.hint());
  }
}

// Puts the tensors of `from` that fit into `own`, and logs the names of the others. Returns whether all fit; `anew`
// gets the names of the tensors of `own` without a fitting one.
bool take_fitting(std::vector<StateTensor>& from, std::vector<StateTensor>& own, const char* what,
                  std::set<std::string>& anew) {
  std::map<std::string, StateTensor*> stored;
  for (auto& tensor : from) stored.emplace(tensor.name, &tensor);
  std::vector<std::string> missing, unexpected, other;
  for (auto& tensor : own) {
    const auto found = stored.find(tensor.name);
    if (found == stored.end()) {
      missing.push_back(tensor.name);
      continue;
    }
    if (found->second->shape == tensor.shape && found->second->dtype == tensor.dtype)
      tensor.bytes = std::move(found->second->bytes);
    else
      other.push_back(tensor.name);
    stored.erase(found);
  }
  for (auto& [name, tensor] : stored) unexpected.push_back(name);
  for (auto& [begin, names] : {std::pair{"missing in the snapshot, so these begin anew: ", &missing},
                               {"of another shape or type in the snapshot, so these begin anew: ", &other},
                               {"unexpected in the snapshot, and left out: ", &unexpected}})
    if (!names->empty()) log_warn(concat("resume.strict = false: ", what, " ", begin, join(*names)));
  for (auto* names : {&missing, &other}) anew.insert(names->begin(), names->end());
  return anew.empty() && unexpected.empty();
}

// Starts the averages that begin anew from their parameters.
void restart_averages(LearnerState& own, const std::set<std::string>& anew) {
  std::map<std::string, const StateTensor*> parameters;
  for (auto& tensor : own.model) parameters.emplace(tensor.name, &tensor);
  for (auto& tensor : own.optim)
    if (is_average(tensor.name) && anew.contains(tensor.name))
      tensor.bytes = parameters.at(tensor.name.substr(average_prefix.size()))->bytes;
}

}  // namespace

bool rolls_back(const Config& config) {
  return NonFinitePolicy::from(config.train()).action == NonFinitePolicy::Action::rollback;
}

RunState initial_state(const Start& start, const std::optional<OpenSnapshot>& snapshot, Group& group) {
  RunState state;
  if (snapshot) {
    state = RunState::from_json(snapshot->state_json);
    check_parts(state, start);
    const Settings& resume = start.config.table("resume");
    if (!resume.boolean("hooks")) state.hooks.states.clear();
    if (!resume.boolean("schedule")) {
      state.hyper = {};
      state.nonfinite.rollback_limit = NonFiniteState::no_limit;
    }
    if (state.world != group.size())
      log_info(concat("processes now: ", group.size(), "; when the snapshot was made: ", state.world));
  }
  state = RunState::from_json(group.ask_leader("the state to begin with", [&] { return state.to_json(); }));
  state.saved = *start.config.snapshot().save;
  state.world = group.size();
  if (const auto& rules = start.config.table("resume").texts("rename"); !rules.empty()) state.renamed = rules;
  if (!rolls_back(start.config))
    state.nonfinite.rollback_targets.clear();
  else if (state.nonfinite.rollback_targets.empty())
    state.nonfinite.rollback_targets = {state.iteration};
  return state;
}

void warn_of_hooks(const Hooks& hooks, const RunState& state, const Config& config) {
  if (!config.table("resume").boolean("hooks")) return;
  for (auto& difference : hooks.differences(state.hooks.states)) log_warn(difference);
}

bool load_tensors(const OpenSnapshot& snapshot, const Config& config, Learner& learner) {
  const Settings& resume = config.table("resume");
  LearnerState state = read_tensors(snapshot);
  const auto& rules = resume.texts("rename");
  const bool renames = !rules.empty() && rules != RunState::from_json(snapshot.state_json).renamed;
  if (renames) rename_tensors(state, resume);
  const bool had_scale = std::any_of(state.optim.begin(), state.optim.end(), is_scale);
  const bool has_scale = *config.train().amp == "fp16";
  const bool had_optim = std::ranges::any_of(state.optim, [](auto& tensor) { return !is_average(tensor.name); });
  if (!resume.boolean("optim")) state.optim.clear();
  if (resume.boolean("scaler") && resume.boolean("optim") && had_optim && had_scale != has_scale)
    throw config.train().amp.error(
        concat("the snapshot was made with", had_scale ? "" : "out", " fp16's scale of the loss"), ExitCode::usage,
        "resume.scaler = false ignores it, or starts a new scale");
  if (!resume.boolean("scaler")) std::erase_if(state.optim, is_scale);
  if (resume.boolean("strict")) {
    learner.load_state(state);
    return !renames;
  }
  LearnerState own;
  learner.copy_state(own);
  own.settle();
  std::set<std::string> anew, optim_anew;
  bool all = take_fitting(state.model, own.model, "the net's tensors", anew);
  if (state.optim.empty())
    own.optim.clear();
  else
    all &= take_fitting(state.optim, own.optim, "the optimizers' state", optim_anew);
  restart_averages(own, optim_anew);
  learner.load_state(own);
  if (!all) log_warn("resume.strict = false: the run goes on, but not as it would have without the differences above");
  return all && !renames;
}

void rewind_snapshots(const std::filesystem::path& snapshots, const RunState& state) {
  for (auto& path : set_aside_newer(snapshots, state.iteration)) log_info("set aside: " + path.string());
  for (auto& [link, ranking] : state.validations.best)
    if (const auto& entries = ranking.entries;
        !entries.empty() && std::filesystem::exists(snapshots / snapshot_name(entries.front().iteration)))
      try {
        link_snapshot(snapshots, entries.front().iteration, link);
      } catch (const LinkError& error) {  // a disk without links, for example
        log_warn(error.what());
      }
}

}  // namespace flowtrain
