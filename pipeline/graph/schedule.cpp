#include "pipeline/graph/schedule.h"

#include <deque>

namespace flowtrain {

namespace {

bool due(std::uint64_t iteration, std::uint64_t every) { return every > 0 && iteration % every == 0; }

// Writes down one iteration at a time.
class Tickets {
 public:
  explicit Tickets(const Schedule& schedule) : schedule_(schedule), iteration_(schedule.first) {
    if (schedule.validate_first) add(TicketKind::validate, schedule.first - 1);
  }

  Ticket operator()() {
    if (next_.empty()) plan();
    const Ticket ticket = next_.front();
    next_.pop_front();
    return ticket;
  }

 private:
  void plan() {
    if (iteration_ > schedule_.last) return add(TicketKind::end, schedule_.last);
    auto rates = schedule_.rates(iteration_);
    if (rates != rates_) add(TicketKind::rates, iteration_);
    rates_ = std::move(rates);
    for (std::uint32_t micro = 0; micro < schedule_.accum; ++micro)
      add(TicketKind::batch, iteration_, static_cast<std::uint16_t>(micro));
    if (schedule_.validates_after(iteration_)) add(TicketKind::validate, iteration_);
    if (schedule_.snapshots_after(iteration_)) add(TicketKind::snapshot, iteration_);
    ++iteration_;
  }
  void add(TicketKind kind, std::uint64_t iteration, std::uint16_t micro = 0) {
    Ticket ticket;
    ticket.kind = kind;
    ticket.iteration = iteration;
    ticket.micro = micro;
    next_.push_back(ticket);
  }

  Schedule schedule_;
  std::uint64_t iteration_;
  std::vector<Rates> rates_;  // of the iteration before, if this start saw it
  std::deque<Ticket> next_;
};

}  // namespace

std::vector<Rates> Schedule::rates(std::uint64_t iteration) const {
  std::vector<Rates> all;
  for (auto& optimizer : optimizers) all.push_back(optimizer.at(iteration));
  return all;
}

bool Schedule::validates_after(std::uint64_t iteration) const {
  return due(iteration, validate_every) || (validate_every > 0 && iteration == last);
}

bool Schedule::snapshot_is_due(std::uint64_t iteration) const { return due(iteration, snapshot_every); }

bool Schedule::snapshots_after(std::uint64_t iteration) const {
  return snapshot_is_due(iteration) || (final_snapshot && iteration == last);
}

std::function<Ticket()> Schedule::tickets() const { return Tickets(*this); }

}  // namespace flowtrain
