#include "stages/look_ahead.h"

namespace flowtrain {

Ticket LookAhead::operator()() {
  if (!distant_) return source_();
  while (!ended_ && (drawn_.empty() || drawn_rows_ < rows_)) draw();
  if (drawn_.empty()) std::rethrow_exception(error_);
  const auto [ticket, rows] = drawn_.front();
  drawn_.pop_front();
  drawn_rows_ -= rows;
  if (rows > 0) issue_.each_own(ticket, [this](std::uint64_t id) { distant_->begin(id); });
  return ticket;
}

void LookAhead::draw() {
  Drawn next{};
  try {
    next.ticket = source_();
  } catch (...) {
    error_ = std::current_exception();
    ended_ = true;
    return;
  }
  ended_ = next.ticket.kind == TicketKind::end;
  if (next.ticket.kind == TicketKind::batch)
    issue_.each_own(next.ticket, [&](std::uint64_t id) {
      distant_->expect(id);
      ++next.rows;
    });
  drawn_rows_ += next.rows;
  drawn_.push_back(next);
}

}  // namespace flowtrain
