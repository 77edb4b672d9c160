#include "pipeline/distributed/heart.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "pipeline/telemetry/log.h"
#include "sampling/error.h"
#include "stages/named_thread.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

}  // namespace

struct Heart::State {
  State(const Place& of, StorePtr own, const Pace& with, std::shared_ptr<FlightRecord> of_collectives)
      : place(of), pace(with), record(std::move(of_collectives)), store(std::move(own)) {}

  const Place place;
  const Pace pace;
  const std::shared_ptr<FlightRecord> record;
  const StorePtr store;  // of the first thread

  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false, goodbye_said = false, store_is_gone = false;
  Clock::time_point answered = Clock::now();  // by the store
  bool has_failed = false, is_shown = false;
  std::string failure, when_silent;
  int code = static_cast<int>(Exit::distributed);
  Clock::time_point end_by;

  std::mutex claim_mutex;  // held while the store is asked, so not the other one
  std::optional<bool> first_to_show;

  bool shows(c10d::Store& by) {
    std::lock_guard lock(claim_mutex);
    if (!first_to_show) first_to_show = is_first_to_show(by, place.launcher == Launcher::spawn, place.node);
    return *first_to_show;
  }

  // With the mutex held.
  void fail(const std::string& text, bool is_told, Pace::Span span) {
    if (has_failed) return;
    has_failed = true;
    failure = text;
    is_shown = is_told;
    end_by = Clock::now() + span;
  }

  void beat() {
    const int next = (place.rank + 1) % place.world;
    Beat mine{.host = host_name()}, theirs;
    auto heard = Clock::now();
    for (bool knows = false;;) {
      ++mine.count;
      mine.collectives = record->entered();
      mine.last = record->last();
      const auto asked = Clock::now();
      set_beat(*store, place.rank, mine);
      const Beat now = beat_of(*store, next);
      record->answered(Clock::now() - asked);
      if (now.count != theirs.count) heard = Clock::now();
      theirs = now;
      // One that never came is missed at the start, where all wait for all.
      const bool silent = theirs.count > 0 && theirs.count != last_beat && Clock::now() - heard > pace.limit;
      if (silent) report_failure(*store, is_silent(next, theirs));
      const std::string known = reported_failure(*store);
      if (!known.empty() && !knows) {
        knows = true;
        const bool told_elsewhere = !shows(*store);
        std::lock_guard lock(mutex);
        fail(known, told_elsewhere, pace.grace);
      }
      std::unique_lock lock(mutex);
      answered = Clock::now();
      if (changed.wait_for(lock, pace.beat, [this] { return ended; })) break;
    }
    mine.count = last_beat;
    set_beat(*store, place.rank, mine);
  }

  void guard() {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, pace.beat / 2, [this] { return ended; })) {
      const auto now = Clock::now();
      if (!store_is_gone && now - answered > pace.limit)
        fail("rank " + std::to_string(place.rank) + " on " + host_name() + " is cut off: the store at " + place.url +
                 " does not answer any more",
             false, pace.beat);
      if (!has_failed || now < end_by) continue;
      if (!is_shown) log_error(failure + when_silent);
      ::_exit(code);
    }
  }
};

Heart::Heart(const Place& place, StorePtr store, const Pace& pace, std::shared_ptr<FlightRecord> record)
    : state_(std::make_shared<State>(place, std::move(store), pace, std::move(record))) {
  if (place.world == 1) return;
  named_thread("ft-heart", [state = state_] {
    bool gone = false;
    try {
      state->beat();
    } catch (const std::exception&) {
      gone = true;  // with whoever served it, as the next collective shows; or, at the end, it has ended before us
    }
    std::lock_guard lock(state->mutex);
    state->store_is_gone = gone;
    state->goodbye_said = true;
    state->changed.notify_all();
  }).detach();
  named_thread("ft-guard", [state = state_] { state->guard(); }).detach();
}

Heart::~Heart() {
  std::unique_lock lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
  if (state_->place.world == 1) return;
  state_->changed.wait_for(lock, state_->pace.patience, [this] { return state_->goodbye_said; });
}

void Heart::expect_end(const std::string& text, int code) {
  std::lock_guard lock(state_->mutex);
  state_->fail(text, false, 2 * state_->pace.patience + state_->pace.grace);
  state_->failure = text;
  state_->when_silent = " (and the store at " + state_->place.url + " does not answer: this node may be cut off)";
  state_->code = code;
}

bool Heart::shows(c10d::Store& store) { return state_->shows(store); }

void Heart::shown() {
  std::lock_guard lock(state_->mutex);
  state_->is_shown = true;
}

}  // namespace flowtrain
