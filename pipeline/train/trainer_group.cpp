// What the trainers of a group do together: they vote on how to go on, settle which samples were trained on, and
// compare their times. A process that trains alone settles its samples likewise.

#include <algorithm>
#include <array>
#include <csignal>
#include <span>
#include <utility>

#include "pipeline/telemetry/interrupt.h"
#include "pipeline/train/exchange.h"
#include "pipeline/train/trainer.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace {

// What ranks wait for an answer of the store, which is beside rank 0: where most of the others wait long, it is for
// rank 0's own way to them.
int slowest_link(std::span<const double> waits) {
  const auto longest = std::max_element(waits.begin(), waits.end());
  const auto others = waits.subspan(1);
  const auto slow = std::count_if(others.begin(), others.end(), [&](double wait) { return wait > *longest / 2; });
  return others.size() > 1 && 2 * static_cast<std::size_t>(slow) > others.size()
             ? 0
             : static_cast<int>(longest - waits.begin());
}

}  // namespace

Votes Trainer::own_votes() const {
  Votes votes;
  votes.bad_samples = static_cast<double>(bad_.size());
  const auto signal = parts_.interrupt ? parts_.interrupt->requested() : std::nullopt;
  if (signal) (*signal == SIGINT ? votes.interrupted : votes.terminated) = 1;
  votes.failed = parts_.snapshots && parts_.snapshots->has_failed();
  votes.out_of_time = parts_.early_stop.out_of_time(state_.elapsed_s);
  votes.stopped = !parts_.hooks->moment().stopped.empty();
  votes.left_out = failure_ != nullptr;
  return votes;
}

// Asked before and after each batch, by all ranks equally often. They agree about twice a second where batches take as
// long as the last ones, and after every 50th question at the latest: each agreement makes them wait for each other.
// When the next one is follows from times that all of them know.
bool Trainer::validation_goes_on() {
  constexpr double between_agreements_s = 0.5, most = 50;
  if (!grouped()) return !parts_.interrupt || !parts_.interrupt->requested();
  if (result_.signal || ++asked_ < agrees_after_) return !result_.signal;
  const Votes own = own_votes();
  const auto now = Clock::now();
  std::array<double, 3> all = {own.interrupted, own.terminated,
                               std::chrono::duration<double>(now - std::exchange(agreed_, now)).count()};
  parts_.group->sum("whether a validation goes on", all);
  if (all[0] + all[1] > 0) result_.signal = all[1] > 0 ? SIGTERM : SIGINT;
  const double question_s = all[2] / parts_.group->size() / static_cast<double>(std::exchange(asked_, 0));
  agrees_after_ = static_cast<std::uint64_t>(std::clamp(between_agreements_s / question_s, 1., most));
  return !result_.signal;
}

// What all processes do because one of them asked for it.
void Trainer::heed(const Votes& votes) {
  if (votes.terminated > 0)
    result_.signal = SIGTERM;
  else if (votes.interrupted > 0)
    result_.signal = SIGINT;
  else if (votes.out_of_time > 0)
    result_.stopped = parts_.early_stop.out_of_time_text();
  else if (votes.stopped > 0) {
    const auto& own = parts_.hooks->moment().stopped;
    result_.stopped = own.empty() ? "a hook of another process asked for it" : own;
  }
  if (votes.failed == 0) return;
  if (parts_.snapshots) parts_.snapshots->check();
  throw UserError(Exit::snapshot, "rank 0 could not write a snapshot");
}

// What took a bad sample's place was trained on.
std::uint64_t Trainer::trained_on(const StreamRow& row) const {
  const auto replaced = substitutes_.find(row.position);
  return replaced == substitutes_.end() ? row.id : replaced->second;
}

// What was found bad, by anyone, goes into the ledger, and what took its place into the order's hash.
void Trainer::settle_samples(std::uint64_t iteration, const Votes& votes) {
  std::vector<BadSample> found;
  if (votes.bad_samples > 0) found = bad_samples_of_all(*parts_.group, bad_);
  bad_.clear();
  substitutes_.clear();
  for (auto& bad : found) substitutes_[bad.position] = bad.substitute;
  for (auto& row : rows_) {
    const auto id = trained_on(row);
    state_.order.update(std::as_bytes(std::span(&id, 1)));
  }
  rows_.clear();
  parts_.bad_samples->account(std::move(found), iteration);
  if (const auto& ids = parts_.bad_samples->ids(); ids.size() != state_.bad_samples.size()) state_.bad_samples = ids;
}

// Times are those of the slowest process: all wait for it. What a process waits for the others is not its own.
void Trainer::compare_ranks() {
  const auto iterations = static_cast<double>(iterations_);
  const auto size = static_cast<std::size_t>(parts_.group->size()),
             rank = static_cast<std::size_t>(parts_.group->rank());
  std::vector<double> all(6 * size);
  const auto of = [&](std::size_t what) { return std::span(all).subspan(what * size, size); };
  of(0)[rank] = event_.data_wait;
  of(1)[rank] = event_.data_time_s;
  of(2)[rank] = (compute_s_ - exposed_s_) / iterations;
  of(3)[rank] = exchange_s_ / iterations;
  of(4)[rank] = exposed_s_ / iterations;
  of(5)[rank] = parts_.group->take_link_time();
  parts_.group->sum("the times of all ranks", all);
  const auto most = [&](std::size_t what) { return *std::max_element(of(what).begin(), of(what).end()); };
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < size; ++i)
    if (of(1)[i] + of(2)[i] > of(1)[slowest] + of(2)[slowest]) slowest = i;
  event_.slowest_rank = static_cast<int>(slowest);
  event_.slowest_s = of(1)[slowest] + of(2)[slowest];
  event_.slowest_link = slowest_link(of(5));
  event_.link_s = most(5);
  event_.data_wait = most(0);
  event_.data_time_s = most(1);
  event_.step_time_s = most(2) + of(4)[slowest];
  event_.exchange_s = of(3)[slowest];  // the last to come waits for the network alone
  event_.exchange_hidden = event_.exchange_s > 0 ? 1 - of(4)[slowest] / event_.exchange_s : 0;
}

}  // namespace flowtrain
