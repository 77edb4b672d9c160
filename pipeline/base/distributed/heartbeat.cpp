#include "pipeline/base/distributed/heartbeat.h"

#include <unistd.h>

#include <optional>
#include <thread>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "stages/flight/flight.h"
#include "stages/system/host_name.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Heartbeat::State {
  State(const RankInfo& of, StorePtr own, const Timeouts& with, std::shared_ptr<CollectiveLog> of_collectives)
      : place(of), timeouts(with), record(std::move(of_collectives)), store(std::move(own)) {}

  const RankInfo place;
  const Timeouts timeouts;
  const std::shared_ptr<CollectiveLog> record;
  const StorePtr store;  // used by the first thread

  Mutex mutex;
  CondVar changed;
  bool ended FT_GUARDED_BY(mutex) = false;
  bool goodbye_said FT_GUARDED_BY(mutex) = false;
  bool store_is_gone FT_GUARDED_BY(mutex) = false;
  Clock::time_point answered FT_GUARDED_BY(mutex) = Clock::now();  // time of the store's last answer
  bool has_failed FT_GUARDED_BY(mutex) = false;
  bool is_shown FT_GUARDED_BY(mutex) = false;
  std::string failure FT_GUARDED_BY(mutex);
  std::string when_silent FT_GUARDED_BY(mutex);
  int code FT_GUARDED_BY(mutex) = static_cast<int>(ExitCode::distributed);
  Clock::time_point end_by FT_GUARDED_BY(mutex);

  Mutex claim_mutex;  // held during requests to the store, unlike `mutex`
  std::optional<bool> first_to_show FT_GUARDED_BY(claim_mutex);

  bool shows(c10d::Store& by) FT_EXCLUDES(mutex) {
    MutexLock lock(claim_mutex);
    if (!first_to_show) first_to_show = is_first_to_show(by, place.launcher == Launcher::spawn, place.node);
    return *first_to_show;
  }

  void fail(const std::string& text, bool is_told, Timeouts::Span span) FT_REQUIRES(mutex) {
    if (has_failed) return;
    has_failed = true;
    failure = text;
    is_shown = is_told;
    end_by = Clock::now() + span;
  }

  // Waits for the end, for `span` at most. Returns true if it has come.
  bool ends_within(Timeouts::Span span, MutexLock& lock) FT_REQUIRES(mutex) {
    const auto over = Clock::now() + span;
    while (!ended && changed.wait_until(lock, over)) continue;
    return ended;
  }

  void beat() {
    const int next = (place.rank + 1) % place.world;
    Beat mine{.host = host_name()}, theirs;
    auto heard = Clock::now();
    for (bool knows = false;;) {
      ++mine.count;
      mine.at = record->position();
      const auto asked = Clock::now();
      set_beat(*store, place.rank, mine);
      const Beat now = beat_of(*store, next);
      record->answered(Clock::now() - asked);
      if (now.count != theirs.count) heard = Clock::now();
      theirs = now;
      // A rank that never came is missed at the start, where all wait for all.
      const bool silent = theirs.count > 0 && theirs.count != last_beat && Clock::now() - heard > timeouts.limit;
      if (silent) report_failure(*store, describe_silence(next, theirs));
      if (const auto apart = describe_divergence(place.rank, *record, next, theirs); !apart.empty())
        report_failure(*store, apart);
      const std::string known = reported_failure(*store);
      if (!known.empty() && !knows) {
        knows = true;
        const bool told_elsewhere = !shows(*store);
        MutexLock lock(mutex);
        fail(known, told_elsewhere, timeouts.grace);
      }
      MutexLock lock(mutex);
      answered = Clock::now();
      if (ends_within(timeouts.beat, lock)) break;
    }
    mine.count = last_beat;
    set_beat(*store, place.rank, mine);
  }

  void guard() {
    MutexLock lock(mutex);
    while (!ends_within(timeouts.beat / 2, lock)) {
      const auto now = Clock::now();
      if (!store_is_gone && now - answered > timeouts.limit)
        fail(concat("rank ", place.rank, " on ", host_name(), " is cut off: the store at ", place.url,
                    " does not answer any more"),
             false, timeouts.beat);
      if (!has_failed || now < end_by) continue;
      if (!is_shown) log_error(failure + when_silent);
      flight_failed(failure, code);
      ::_exit(code);
    }
  }
};

Heartbeat::Heartbeat(const RankInfo& place, StorePtr store, const Timeouts& timeouts,
                     std::shared_ptr<CollectiveLog> record)
    : state_(std::make_shared<State>(place, std::move(store), timeouts, std::move(record))) {
  if (place.world == 1) return;
  named_thread("ft-heart", [state = state_] {
    bool gone = false;
    try {
      state->beat();
    } catch (const std::exception&) {
      gone = true;  // the server of the store is gone, as the next collective shows; or it has ended before us
    }
    MutexLock lock(state->mutex);
    state->store_is_gone = gone;
    state->goodbye_said = true;
    state->changed.notify_all();
  }).detach();
  named_thread("ft-guard", [state = state_] { state->guard(); }).detach();
}

Heartbeat::~Heartbeat() {
  State& state = *state_;
  MutexLock lock(state.mutex);
  state.ended = true;
  state.changed.notify_all();
  if (state.place.world == 1) return;
  const auto over = Clock::now() + state.timeouts.patience;
  while (!state.goodbye_said && state.changed.wait_until(lock, over)) continue;
}

void Heartbeat::expect_end(const std::string& text, int code) {
  MutexLock lock(state_->mutex);
  state_->fail(text, false, 2 * state_->timeouts.patience + state_->timeouts.grace);
  state_->failure = text;
  state_->when_silent = " (and the store at " + state_->place.url + " does not answer: this node may be cut off)";
  state_->code = code;
}

bool Heartbeat::shows(c10d::Store& store) { return state_->shows(store); }

void Heartbeat::shown() {
  MutexLock lock(state_->mutex);
  state_->is_shown = true;
}

}  // namespace flowtrain
