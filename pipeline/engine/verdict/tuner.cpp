#include "pipeline/engine/verdict/tuner.h"

#include <algorithm>

namespace flowtrain {

namespace {

constexpr double enough_waiting = 0.01;  // share of the time: with less waiting there is nothing to gain
constexpr double clearly_better = 1.04;  // a smaller factor is within the variation of runs

template <class Count>
bool grow(Count& count, Count to, Count most) {
  if (count >= most) return false;
  count = std::min(to, most);
  return true;
}

template <class Count>
bool shrink(Count& count, Count least) {
  if (count <= std::max(least, Count{1})) return false;
  count = std::max(least, static_cast<Count>(count - std::max(Count{1}, static_cast<Count>(count / 4))));
  return true;
}

bool more_readers(Tuning& t, const Tuner::Limits& limits) {
  return grow(t.loader.readers, 2 * t.loader.readers, limits.most.readers);
}
bool more_workers(Tuning& t, const Tuner::Limits& limits) {
  return grow(t.loader.workers, t.loader.workers + std::max(1u, t.loader.workers / 2), limits.most.workers);
}
bool more_prefetch(Tuning& t, const Tuner::Limits& limits) {
  return grow(t.loader.prefetch, 2 * t.loader.prefetch, limits.most.prefetch);
}
// A CPU that also computes may get more done with fewer threads.
bool fewer_workers(Tuning& t, const Tuner::Limits& limits) { return shrink(t.loader.workers, limits.least_workers); }
bool fewer_threads(Tuning& t, const Tuner::Limits&) { return shrink(t.threads, 1u); }
bool more_threads(Tuning& t, const Tuner::Limits& limits) {
  return t.threads > 0 && grow(t.threads, t.threads + std::max(1u, t.threads / 3), limits.most_threads);
}

}  // namespace

const std::vector<Tuner::Move>& Tuner::moves() {
  static const std::vector<Move> all{{more_readers, true, false, "loader.readers"},
                                     {more_workers, true, false, "loader.workers"},
                                     {fewer_workers, true, true},
                                     {more_prefetch, true, false, "loader.prefetch"},
                                     {fewer_threads, false, true},
                                     {more_threads, false, true}};
  return all;
}

bool Tuner::worth_trying(const Move& move) const {
  return (move.helps_who_waits && best_waits_) || (move.helps_who_shares && limits_.shares_cores);
}

Tuner::Tuner(const Tuning& start, const Limits& limits)
    : limits_(limits),
      now_(start),
      best_(start),
      to_skip_(Loader::slabs(start.loader.prefetch)),
      failed_(moves().size()) {
  if (limits.most_threads == 0) now_.threads = best_.threads = 0;
}

double Tuner::predicted(const Move& move) const {
  for (auto& gain : best_verdict_.gains)
    if (gain.key == move.key) return gain.speedup;
  return 1;
}

std::optional<Tuning> Tuner::after(double iteration_s, double waited_s, const Judge& judge) {
  if (settled_) return {};
  total_s_ += iteration_s;
  const bool over = total_s_ >= limits_.seconds;
  if (to_skip_ > 0) {
    --to_skip_;
    return over ? settle() : std::nullopt;
  }
  ++iterations_;
  window_s_ += iteration_s;
  waited_s_ += waited_s;
  const bool measured = window_s_ >= limits_.window_s && iterations_ >= limits_.window_iterations;
  if (!measured && !over) return {};
  judge_trial(judge);
  return over ? settle() : next_trial();
}

void Tuner::judge_trial(const Judge& judge) {
  const double rate = static_cast<double>(iterations_) / window_s_;
  const bool first = first_rate_ == 0;
  trials_.push_back({now_, rate, judge ? judge() : Verdict()});
  if (!first && rate <= clearly_better * best_rate_) {
    failed_[move_] = true;
    move_ = (move_ + 1) % moves().size();
    return;
  }
  if (first) first_rate_ = rate;
  best_ = now_;
  best_rate_ = rate;
  best_waits_ = waited_s_ > enough_waiting * window_s_;
  best_verdict_ = trials_.back().verdict;
  failed_.assign(moves().size(), false);  // tries the same move again, unless more is predicted of another
}

std::optional<Tuning> Tuner::next_trial() {
  std::optional<Tuning> best_next;
  std::size_t best_move = move_;
  for (std::size_t i = 0; i < moves().size(); ++i) {
    const std::size_t at = (move_ + i) % moves().size();
    const Move& move = moves()[at];
    if (failed_[at] || !worth_trying(move)) continue;
    if (best_next && predicted(move) <= predicted(moves()[best_move])) continue;
    Tuning next = best_;
    if (!move.change(next, limits_)) continue;
    best_next = next;
    best_move = at;
  }
  if (!best_next) return settle();
  move_ = best_move;
  return change_to(*best_next);
}

std::optional<Tuning> Tuner::settle() {
  settled_ = true;
  return now_ == best_ ? std::nullopt : change_to(best_);
}

std::optional<Tuning> Tuner::change_to(const Tuning& next) {
  to_skip_ = Loader::slabs(next.loader.prefetch) + 2;  // skipped until the rebuilt loader has reached its speed
  now_ = next;
  iterations_ = 0;
  window_s_ = waited_s_ = 0;
  return next;
}

}  // namespace flowtrain
