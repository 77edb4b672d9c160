#include "pipeline/snapshot_branch.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "pipeline/telemetry/log.h"
#include "stages/clock.h"
#include "stages/named_thread.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<TensorView> views_of(const std::vector<StateTensor>& tensors) {
  std::vector<TensorView> views;
  for (auto& tensor : tensors)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data(), tensor.bytes.size()});
  return views;
}

}  // namespace

// One staging copy goes back and forth: the caller fills it while `busy` is false, the thread writes while it is true.
struct SnapshotBranch::Impl {
  Impl(SnapshotPolicy given, MetricsFile* metrics_file)
      : policy(std::move(given)), metrics(metrics_file), thread(named_thread("ft-snapshot", [this] { loop(); })) {}

  void loop() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return busy || ended; });
      if (!busy) return;
      lock.unlock();
      const bool done = save();
      lock.lock();
      last_succeeded = done;
      busy = false;
      changed.notify_all();
    }
  }

  bool save() try {
    tensors.settle();
    SnapshotContent content;
    content.iteration = iteration;
    content.model = views_of(tensors.model);
    if (saves_optim) content.optim = views_of(tensors.optim);
    content.state_json = state_json;
    content.config_toml = policy.config_toml;
    const auto path = write_snapshot(policy.folder, content);
    if (best) mark_best(policy.folder, iteration);
    prune(policy.folder, policy.keep_last, ranking, policy.keep_every);
    log_info(say("snapshot ", path.string(), best ? "  (best so far)" : ""));
    if (metrics)
      metrics->write("snapshot", {{"iter", iteration},
                                  {"path", path.string()},
                                  {"stall_s", stall_s},
                                  {"total_s", seconds_since(begin)}});
    return true;
  } catch (const std::exception& error) {  // no memory, say
    const std::string what = say("no snapshot of iteration ", iteration, ": ", error.what());
    if (policy.stop_on_error) {
      failure.emplace(Exit::snapshot, what, "snapshot.on_error = \"go_on\" lets a run go on without");
      has_failed = true;
    } else {
      log_warn(what + "; training goes on");
    }
    return false;
  }

  void wait_idle(std::unique_lock<std::mutex>& lock) {
    changed.wait(lock, [this] { return !busy; });
  }

  SnapshotPolicy policy;
  MetricsFile* metrics;
  LearnerState tensors;
  std::string state_json;
  std::uint64_t iteration = 0;
  std::vector<std::uint64_t> ranking;  // iterations of the best ones, which are kept
  bool best = false, saves_optim = true;
  double stall_s = 0;
  Clock::time_point begin;
  std::optional<UserError> failure;  // set once, before has_failed
  std::atomic<bool> has_failed = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool busy = false, ended = false, last_succeeded = true;
  std::jthread thread;  // last: it uses all of the above
};

SnapshotBranch::SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics)
    : impl_(std::make_unique<Impl>(std::move(policy), metrics)) {}

SnapshotBranch::~SnapshotBranch() { finish(); }

bool SnapshotBranch::take(Learner& learner, const RunState& state, SnapshotReason reason) {
  const auto begin = Clock::now();
  std::unique_lock lock(impl_->mutex);
  if (impl_->busy && reason == SnapshotReason::period && impl_->policy.skip_when_busy) {
    log_warn(say("no snapshot of iteration ", state.iteration, ": that of iteration ", impl_->iteration,
                 " is still being written; snapshot.every is too short for this disk"));
    return false;
  }
  impl_->wait_idle(lock);
  learner.copy_state(impl_->tensors);
  impl_->state_json = state.to_json();
  impl_->saves_optim = state.has_saved("optim");
  impl_->iteration = state.iteration;
  impl_->ranking.clear();
  for (auto& entry : state.best)
    if (impl_->ranking.size() < impl_->policy.keep_best) impl_->ranking.push_back(entry.iteration);
  impl_->best = reason == SnapshotReason::best;
  impl_->begin = begin;
  impl_->stall_s = seconds_since(begin);
  impl_->busy = true;
  impl_->changed.notify_all();
  return true;
}

bool SnapshotBranch::has_failed() const { return impl_->has_failed; }

void SnapshotBranch::check() const {
  if (impl_->has_failed) throw *impl_->failure;
}

std::optional<OpenSnapshot> SnapshotBranch::newest(std::uint64_t limit) {
  std::unique_lock lock(impl_->mutex);
  impl_->wait_idle(lock);
  for (auto& info : list_snapshots(impl_->policy.folder))
    if (info.iteration <= limit && info.complete && verify_snapshot(info.path).empty()) return open_verified(info.path);
  return std::nullopt;
}

bool SnapshotBranch::finish() {
  std::unique_lock lock(impl_->mutex);
  impl_->wait_idle(lock);
  impl_->ended = true;
  impl_->changed.notify_all();
  const bool succeeded = impl_->last_succeeded;
  lock.unlock();
  if (impl_->thread.joinable()) impl_->thread.join();
  return succeeded;
}

LearnerState read_tensors(const OpenSnapshot& snapshot) {
  LearnerState state;
  for (auto [file, to] : {std::pair{&snapshot.model, &state.model}, {&snapshot.optim, &state.optim}})
    for (auto& tensor : file->tensors())
      to->push_back({tensor.name, tensor.dtype, tensor.shape, false, {tensor.data, tensor.data + tensor.bytes}});
  return state;
}

}  // namespace flowtrain
