#include "stages/look_ahead.h"

namespace flowtrain {

Ticket LookAhead::operator()() {
  if (!dataset_.takes_hints()) return ticket_of(next_++, accum_);
  while (next_ != end_ && (drawn_.empty() || drawn_rows_ < rows_)) draw();
  const auto [ticket, rows] = drawn_.front();
  drawn_.pop_front();
  drawn_rows_ -= rows;
  if (rows > 0) issue_.each_own(ticket, [this](std::uint64_t id) { dataset_.prefetch(id); });
  return ticket;
}

void LookAhead::draw() {
  Drawn next{ticket_of(next_++, accum_), 0};
  issue_.each_own(next.ticket, [&](std::uint64_t id) {
    dataset_.hint(id);
    ++next.rows;
  });
  drawn_rows_ += next.rows;
  drawn_.push_back(next);
}

void LookAhead::restart(std::uint64_t number) {
  for (auto& [ticket, rows] : drawn_) issue_.each_own(ticket, [this](std::uint64_t id) { dataset_.forget(id); });
  drawn_.clear();
  drawn_rows_ = 0;
  next_ = number;
}

}  // namespace flowtrain
