#include "stages/trace/profile.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace flowtrain {

namespace {

constexpr std::uint64_t warm_up = 10, window = 10;  // numbers of iterations

// Threads without a name have that of the program.
std::string thread_name() {
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  return name.data();
}

double seconds_of(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

const char* to_text(Phase phase) {
  static constexpr std::array<const char*, phases> names{
      "data", "transfer", "forward", "backward", "communication", "gradients", "optimizer", "validation", "snapshot"};
  return names[static_cast<std::size_t>(phase)];
}

void Durations::add(double duration_s) {
  const double step = std::floor(steps_ * std::log2(std::max(duration_s, least_s_) / least_s_));
  ++buckets_[std::min(static_cast<std::size_t>(step), buckets_.size() - 1)];
  ++count_;
  total_s_ += duration_s;
}

double Durations::percentile_s(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= wanted) return least_s_ * std::exp2((static_cast<double>(i) + 0.5) / steps_);
  }
  return 0;
}

Profile::Profile(std::uint64_t first, std::uint64_t last) : threads_{{::gettid(), "compute"}} {
  const std::uint64_t count = last >= first ? last - first + 1 : 0;
  window_.first = first + std::min(warm_up, count / 2);
  window_.last = window_.first + std::min(window, (count + 3) / 4) - 1;
}

void Profile::begin_iteration(std::uint64_t iteration) {
  if (!detailed()) return;
  count_wall();
  measured_.iteration = iteration;
  const bool records = iteration >= window_.first && iteration <= window_.last;
  if (records && timed_.device && !timed_.origin) set_origin();
  recording_.store(records, std::memory_order_release);
  ++(records ? measured_.recorded : measured_.iterations);
}

void Profile::finish() {
  count_wall();
  recording_.store(false, std::memory_order_relaxed);
  if (timed_.origin) read_streams();
}

bool Profile::is_at(Phase phase) const { return innermost_ && innermost_->phase_ == phase; }

void Profile::count_wall() {
  const auto now = Clock::now();
  if (!recording()) measured_.wall_s += seconds_of(now - measured_.since);
  measured_.since = now;
}

namespace {

FlightPlace place_of(Phase phase) {
  return {.name = to_text(phase), .kind = phase == Phase::data ? FlightKind::waits : FlightKind::work};
}

}  // namespace

Profile::At::At(Profile* profile, Phase phase)
    : begin_(profile ? Clock::now() : Clock::time_point()),
      flight_(profile ? FlightSpan(place_of(phase), begin_) : FlightSpan(place_of(phase))),
      range_(to_text(phase)),
      profile_(profile),
      phase_(phase) {
  if (!profile_) return;
  outer_ = profile_->innermost_;
  profile_->innermost_ = this;
}

Profile::At::~At() {
  if (!profile_) return;
  const auto end = Clock::now();
  flight_.end(end);
  const double whole_s = seconds_of(end - begin_);
  if (outer_) outer_->inner_s_ += whole_s;
  profile_->innermost_ = outer_;
  profile_->leave(phase_, begin_, end, whole_s - inner_s_);
}

Profile::Span::~Span() {
  if (!profile_) return;
  profile_->record({.name = work_.name, .category = "loader", .iteration = work_.iteration, .batch = work_.batch},
                   begin_, Clock::now());
}

void Profile::leave(Phase phase, Clock::time_point begin, Clock::time_point end, double own_s) {
  line_s_[static_cast<std::size_t>(phase)] += own_s;
  if (!detailed()) return;
  if (recording()) {
    const Work work = work_of(phase);
    record({.name = work.name, .category = "phase", .iteration = work.iteration, .batch = work.batch}, begin, end);
    return;
  }
  phases_[static_cast<std::size_t>(phase)].add(own_s);
}

// Other phases concern all batches of an iteration, or none.
Profile::Work Profile::work_of(Phase phase) const {
  const bool passes = phase == Phase::transfer || phase == Phase::forward || phase == Phase::backward;
  return {to_text(phase), passes ? batch_ : BatchPlace(), measured_.iteration};
}

void Profile::waited_for_others(double duration_s) {
  line_s_[static_cast<std::size_t>(Phase::backward)] -= duration_s;
  line_s_[static_cast<std::size_t>(Phase::communication)] += duration_s;
  if (!detailed() || recording()) return;
  phases_[static_cast<std::size_t>(Phase::backward)].take_away(duration_s);
  phases_[static_cast<std::size_t>(Phase::communication)].add(duration_s);
}

void Profile::add(const Operation& operation) {
  const auto count = [&](Cost& cost) {
    ++cost.calls;
    (operation.backward ? cost.backward_s : cost.forward_s) += operation.own_s;
  };
  count(operations_[operation.name]);
  if (!operation.layer.empty()) count(layers_[operation.layer]);
  const char* const category = operation.backward ? "backward" : operation.layer.empty() ? "operation" : "forward";
  record({.name = operation.name, .category = category, .layer = operation.layer, .iteration = measured_.iteration},
         operation.begin, operation.end);
}

void Profile::record(Event event, Clock::time_point begin, Clock::time_point end) {
  event.thread = ::gettid();
  event.begin_ns = ns_of(begin);
  event.duration_ns = ns_of(end) - event.begin_ns;
  MutexLock lock(mutex_);
  if (events_.size() >= most_events_) return;
  if (!threads_.contains(event.thread)) threads_[event.thread] = thread_name();
  events_.push_back(std::move(event));
}

void Profile::record_count(const char* name, std::size_t fill) {
  MutexLock lock(mutex_);
  if (counts_.size() < most_events_) counts_.push_back({name, ns_of(Clock::now()), fill});
}

std::int64_t Profile::ns_of(Clock::time_point time) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time - measured_.start).count();
}

std::vector<Profile::Event> Profile::events() const {
  MutexLock lock(mutex_);
  return events_;
}

std::vector<Profile::Count> Profile::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

std::map<int, std::string> Profile::threads() const {
  MutexLock lock(mutex_);
  return threads_;
}

}  // namespace flowtrain
