#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <atomic>
#include <future>
#include <thread>

#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/distributed/store.h"
#include "pipeline/base/launch/url.h"
#include "sampling/core/mutex.h"
#include "sampling/core/settings.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

// Runs `job` on a thread of its own, which is abandoned if it takes longer than `patience`: behind a broken link a
// store never answers. Returns false if it did take longer.
template <class Job>
bool within(Timeouts::Span patience, Job job) {
  auto done = std::make_shared<std::promise<void>>();
  const auto is_done = done->get_future();
  std::thread([done, job = std::move(job)]() mutable {
    try {
      job();
    } catch (const std::exception&) {
      // The store's node is gone: the ranks notice that by themselves.
    }
    done->set_value();
  }).detach();
  return is_done.wait_for(patience) == std::future_status::ready;
}

}  // namespace

struct LauncherStore::Impl {
  explicit Impl(const Timeouts& with) : timeouts(with) {}

  // Another node's failure reaches our ranks through their own heartbeats; this handles ranks that hang.
  void listen() {
    named_thread("ft-listen", [self = state, own = listening, beat = timeouts.beat] {
      try {
        for (; !self->ended; std::this_thread::sleep_for(beat)) {
          const int restart = self->restart;
          const auto store = of_start(own, restart);
          const auto failure = reported_failure(*store);
          MutexLock lock(self->mutex);
          if (restart != self->restart || failure == self->failure) continue;
          self->failure = failure;
          lock.unlock();
          store->add(launchers_heard, 1);
        }
      } catch (const std::exception&) {
        MutexLock lock(self->mutex);
        self->failure = "the node that serves the store has ended";
      }
    }).detach();
  }

  struct State {
    std::atomic<bool> ended = false;
    std::atomic<int> restart = 0;
    Mutex mutex;
    std::string failure FT_GUARDED_BY(mutex);
  };

  const Timeouts timeouts;
  StorePtr store, listening;
  bool serves = false;
  std::shared_ptr<State> state = std::make_shared<State>();
};

LauncherStore::LauncherStore(const SpawnPlan& plan, const Settings& dist)
    : impl_(std::make_unique<Impl>(Timeouts(dist))), plan_(plan), url_(plan.url) {
  const bool is_alone = plan.url.empty();
  const MeetingPoint point = is_alone ? MeetingPoint{"127.0.0.1", 0, ""} : parse_dist_url(url_);
  if (!point.file.empty()) return;  // the ranks meet in a file, which needs no server
  impl_->serves = is_alone || plan.node == 0;
  impl_->store = open_tcp_store(point.host, point.port, impl_->serves, impl_->timeouts.timeout);
  const int port = static_cast<c10d::TCPStore&>(*impl_->store).getPort();
  url_ = tcp_url(point.host, port);
  impl_->listening = open_tcp_store(point.host, port, false, impl_->timeouts.timeout);
  impl_->listen();
}

LauncherStore::~LauncherStore() {
  if (const bool others_read_here = impl_->serves && plan_.processes < plan_.world; others_read_here) {
    const bool failed = failed_ || !failure().empty();
    const int nodes = (plan_.world + plan_.processes - 1) / plan_.processes;
    within(2 * impl_->timeouts.patience, [store = of_start(impl_->store, impl_->state->restart), failed, nodes,
                                          ranks = plan_.world, patience = impl_->timeouts.patience] {
      wait_for_count(*store, ranks_left, failed ? ranks - 1 : ranks, patience);
      if (failed) wait_for_count(*store, launchers_heard, nodes, patience);
    });
  }
  impl_->state->ended = true;
}

void LauncherStore::begin(int restart) {
  MutexLock lock(impl_->state->mutex);
  impl_->state->restart = restart;
  impl_->state->failure.clear();
  failed_ = false;
}

void LauncherStore::report_death(int rank, const std::string& how) {
  failed_ = true;
  if (!impl_->store) return;
  const auto store = of_start(impl_->store, impl_->state->restart);
  within(impl_->timeouts.patience, [store, rank, how, node = plan_.node] {
    is_first_to_show(*store, true, node);  // the launcher shows it
    const Beat last = beat_of(*store, rank);
    report_failure(*store, rank_and_host(rank, last) + " " + how + last_seen(last));
  });
}

std::string LauncherStore::failure() const {
  MutexLock lock(impl_->state->mutex);
  return impl_->state->failure;
}

std::string LauncherStore::run_folder() const {
  if (!impl_->store) return {};
  const auto found = std::make_shared<std::string>();
  const auto ask = [store = impl_->store, found] { *found = shared_run(*store).folder.string(); };
  return within(impl_->timeouts.patience, ask) ? *found : "";
}

}  // namespace flowtrain
