#include "pipeline/engine/train/snapshot_branch.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/io/held_folder.h"
#include "stages/flight/flight.h"
#include "stages/system/named_thread.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<TensorView> views_of(const std::vector<StateTensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (auto& tensor : tensors)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data(), tensor.bytes.size()});
  return views;
}

// Averages go with the parameters, because validation may have seen them instead.
std::vector<StateTensor> in_memory(std::span<const TensorView> tensors) {
  std::vector<StateTensor> all;
  for (auto& tensor : tensors)
    all.push_back({tensor.name, tensor.dtype, tensor.shape, false, {tensor.data, tensor.data + tensor.bytes}});
  return all;
}

// A snapshot that is to be saved, or to which links are to lead.
struct Job {
  std::uint64_t iteration = 0;
  std::vector<std::uint64_t> kept = {};  // iterations whose snapshots stay
  std::vector<std::string> links = {};
  std::string state_json = {};
  bool saves_optim = true, only_links = false;
  double stall_s = 0;
  Clock::time_point since = {};
  std::function<void()> before = {};
};

}  // namespace

// Each job has a thread of its own, one at a time. Until the job is over, only that thread uses the members.
struct SnapshotBranch::Impl {
  Impl(SnapshotPolicy the_policy, MetricsFile* the_metrics) : policy(std::move(the_policy)), metrics(the_metrics) {}

  SnapshotPolicy policy;
  MetricsFile* metrics;
  Job job = {};
  LearnerState tensors = {};              // the staging copy, taken at job.since
  std::optional<UserError> failure = {};  // set once, before has_failed
  std::optional<UserError> lost = {};     // used by the thread that trains
  bool last_succeeded = true;
  std::atomic<bool> has_failed = false, busy = false;
  std::jthread thread = {};  // last, because it uses all of the above

  // Throws if the snapshot is not saved.
  std::filesystem::path write() {
    tensors.settle();
    auto optim = views_of(tensors.optim);
    if (!job.saves_optim) std::erase_if(optim, [](auto& tensor) { return !is_average(tensor.name); });
    job.before();
    try {
      return write_snapshot(policy.folder, {job.iteration, views_of(tensors.model), std::move(optim), job.state_json,
                                            policy.config_toml});
    } catch (const LinkError& error) {
      warn_of_link("latest", error);
    }
    return policy.folder / snapshot_name(job.iteration);
  }

  void warn_of_link(const std::string& link, const std::exception& error) const {
    log_warn(
        concat("snapshots/", link, " does not lead to the snapshot of iteration ", job.iteration, ": ", error.what()));
  }

  // A saved snapshot counts, also if its links or the removal of older ones fail.
  void tidy() {
    const FlightSpan flight({.name = "links and older snapshots"});
    for (auto& link : job.links) try {
        link_snapshot(policy.folder, job.iteration, link);
      } catch (const std::exception& error) {
        warn_of_link(link, error);
      }
    try {
      prune(policy.folder, policy.keep_last, job.kept, policy.keep_every);
    } catch (const std::exception& error) {
      log_warn(concat("cannot remove older snapshots: ", error.what()));
    }
  }

  bool save() try {
    const FlightSpan flight({.name = "snapshot file", .iteration = job.iteration});
    const auto path = job.only_links ? std::filesystem::path() : write();
    tidy();
    if (job.only_links) return true;
    log_info(concat("snapshot ", path.string(), job.links.empty() ? "" : "  (best so far)"));
    if (metrics)
      metrics->write("snapshot", {{"iter", job.iteration},
                                  {"path", path.string()},
                                  {"stall_s", job.stall_s},
                                  {"total_s", seconds_since(job.since)}});
    return true;
  } catch (const FolderLost& error) {
    fail(error.what(), error.hint());
    return false;
  } catch (const std::exception& error) {  // no memory, for example
    const std::string what = concat("no snapshot of iteration ", job.iteration, ": ", error.what());
    if (policy.stop_on_error)
      fail(what, "snapshot.on_error = \"go_on\" lets a run go on without");
    else
      log_warn(what + "; training goes on");
    return false;
  }

  // The run ends with the first failure.
  void fail(const std::string& what, const std::string& hint) {
    if (has_failed) return log_warn(what);
    failure.emplace(ExitCode::snapshot, what, hint);
    has_failed = true;
  }

  void start(Job next, const RunState& state) {
    job = std::move(next);
    job.kept = kept_by(policy.best, state.validations.best);
    job.kept.insert(job.kept.end(), state.nonfinite.rollback_targets.begin(), state.nonfinite.rollback_targets.end());
    if (const auto& pending = state.validations.pending; pending && !pending->scalars)
      job.kept.push_back(pending->iteration);  // It is validated again.
    busy = true;
    const auto work = [this] {
      last_succeeded = save();
      busy = false;
    };
    try {
      thread = named_thread("ft-snapshot", work);
    } catch (const std::system_error&) {  // No thread is left, so training waits for the snapshot.
      work();
    }
  }

  void wait() {
    if (thread.joinable()) thread.join();
  }

  std::optional<OpenSnapshot> open(std::uint64_t iteration) {
    wait();
    const auto path = policy.folder / snapshot_name(iteration);
    if (const auto problems = verify_snapshot(path); !problems.empty()) {
      log_warn(concat("passing over ", path.string(), ": ", problems.front()));
      return std::nullopt;
    }
    return open_verified(path);
  }
};

SnapshotBranch::SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics, Group& group)
    : group_(group), skip_when_busy_(policy.skip_when_busy) {
  if (group.leads()) impl_ = std::make_unique<Impl>(std::move(policy), metrics);
}

SnapshotBranch::~SnapshotBranch() { finish(); }

bool SnapshotBranch::leaves_out(std::uint64_t iteration) {
  if (!skip_when_busy_) return false;
  const std::string busy_with = group_.ask_leader("whether a snapshot is left out", [&] {
    return impl_->busy ? std::to_string(impl_->job.iteration) : std::string();
  });
  if (busy_with.empty()) return false;
  if (group_.leads())
    log_warn(concat("no snapshot of iteration ", iteration, ": that of iteration ", busy_with,
                    " is still being written; snapshot.every is too short for this disk"));
  return true;
}

void SnapshotBranch::save(Learner& learner, const RunState& state, const std::vector<std::string>& links,
                          std::function<void()> before) {
  if (!impl_) return;
  const auto begin = Clock::now();
  impl_->wait();
  learner.copy_state(impl_->tensors);
  Job job{.iteration = state.iteration,
          .links = links,
          .state_json = state.to_json(),
          .since = begin,
          .before = std::move(before)};
  job.saves_optim = state.has_saved("optim");
  job.stall_s = seconds_since(begin);
  impl_->start(std::move(job), state);
}

void SnapshotBranch::link(std::uint64_t iteration, const RunState& state, const std::vector<std::string>& links) {
  if (!impl_) return;
  impl_->wait();
  impl_->start({.iteration = iteration, .links = links, .only_links = true}, state);
}

bool SnapshotBranch::has_failed() const { return impl_ && (impl_->has_failed || impl_->lost); }

void SnapshotBranch::look_at_folder() {
  if (!impl_ || impl_->lost) return;
  try {
    check_held(impl_->policy.folder);
  } catch (const FolderLost& error) {
    impl_->lost = error;
  }
}

void SnapshotBranch::check() const {
  if (has_failed()) throw impl_->lost ? *impl_->lost : *impl_->failure;
}

// Returns the chosen iteration to all; only rank 0 opens its snapshot.
std::optional<std::uint64_t> SnapshotBranch::choose(const std::vector<std::uint64_t>& iterations,
                                                    std::optional<OpenSnapshot>& snapshot) {
  const std::string found = group_.ask_leader("the choice of a snapshot", [&]() -> std::string {
    for (const auto iteration : iterations)
      if (auto found = impl_->open(iteration)) {
        snapshot.emplace(std::move(*found));
        return std::to_string(iteration);
      }
    return {};
  });
  return found.empty() ? std::nullopt : std::optional<std::uint64_t>(std::stoull(found));
}

std::optional<std::uint64_t> SnapshotBranch::load(Learner& learner, const std::vector<std::uint64_t>& iterations) {
  std::optional<OpenSnapshot> snapshot;
  const auto found = choose(iterations, snapshot);
  if (snapshot) learner.load_state(read_tensors(*snapshot));
  if (found) learner.share_state();
  return found;
}

bool SnapshotBranch::load(ValidationReplica& replica, std::uint64_t iteration, bool averaged) {
  std::optional<OpenSnapshot> snapshot;
  if (!choose({iteration}, snapshot)) return false;
  replica.load(snapshot ? read_model(*snapshot, averaged) : std::vector<StateTensor>());
  return true;
}

bool SnapshotBranch::finish() {
  if (impl_) impl_->wait();
  return !impl_ || impl_->last_succeeded;
}

std::vector<StateTensor> read_model(const OpenSnapshot& snapshot, bool averaged) {
  return averaged ? in_memory(averaged_model(snapshot)) : in_memory(snapshot.model.tensors());
}

LearnerState read_tensors(const OpenSnapshot& snapshot) {
  return {.model = read_model(snapshot), .optim = in_memory(snapshot.optim.tensors())};
}

}  // namespace flowtrain
