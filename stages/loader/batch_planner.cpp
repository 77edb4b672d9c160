#include "stages/loader/batch_planner.h"

#include <algorithm>
#include <array>

#include "stages/core/error_context.h"

namespace flowtrain {

namespace {
constexpr std::size_t ids_at_once = 64;
}

StreamRow BatchPlanner::row_of(std::uint64_t number, std::uint64_t row) const {
  const std::uint64_t position = batches_.position(number, row);
  try {
    return {position, order_.at(batches_.epoch(number), batches_.index(number, row))};
  } catch (...) {
    add_error_context("plan", "position " + std::to_string(position));
  }
}

// A process without a row in a small batch repeats the first one at no weight, so that all take part in collectives.
BatchPlanner::Own BatchPlanner::own_rows(std::uint64_t number) const {
  const std::uint64_t whole = batches_.rows(number), own = slice_.rows(whole);
  return own > 0 ? Own{slice_.begin(whole), own} : Own{0, 1};
}

// Slab::share explains it. A batch at the end of a padded epoch has fewer rows than the iteration's others.
double BatchPlanner::share_of(const Ticket& ticket) const {
  const std::uint64_t batch = number(ticket), first = batch - ticket.micro;
  std::uint64_t rows = 0;
  for (std::uint64_t each = first; each < first + accum_; ++each) rows += batches_.rows(each);
  return static_cast<double>(slice_.rows(batches_.rows(batch))) * static_cast<double>(slice_.world * accum_) /
         static_cast<double>(rows);
}

std::uint32_t BatchPlanner::operator()(const Ticket& ticket, Slab& slab) const {
  const std::uint64_t batch = number(ticket);
  const auto [begin, count] = own_rows(batch);
  const auto rows = static_cast<std::uint32_t>(count);
  const std::uint32_t chunks = std::min(rows, chunks_);
  slab.begin(ticket, batches_.epoch(batch), rows, chunks);
  slab.set_share(share_of(ticket));
  std::uint64_t row = begin;
  std::array<std::uint64_t, ids_at_once> ids;
  for (auto left = slab.rows(); !left.empty();) {
    const auto drawn = draw(batch, row, std::span(ids).first(std::min(ids.size(), left.size())));
    for (std::size_t i = 0; i < drawn; ++i, ++row) {
      left[i].position = batches_.position(batch, row);
      left[i].id = ids[i];
    }
    left = left.subspan(drawn);
  }
  return chunks;
}

std::size_t BatchPlanner::draw(std::uint64_t number, std::uint64_t row, std::span<std::uint64_t> ids) const {
  const std::uint64_t index = batches_.index(number, row);
  const auto count = std::min<std::uint64_t>(ids.size(), batches_.epoch_end() - index);
  try {
    order_.fill(batches_.epoch(number), index, ids.first(count));
  } catch (...) {
    const std::uint64_t first = batches_.position(number, row);
    add_error_context("plan", "position " + std::to_string(first) + " to " + std::to_string(first + count - 1));
  }
  return count;
}

std::vector<StreamRow> BatchPlanner::rows(const Ticket& ticket) const {
  std::vector<StreamRow> all(batches_.rows(number(ticket)));
  for (std::uint64_t row = 0; auto& each : all) each = row_of(number(ticket), row++);
  return all;
}

void BatchPlanner::each_own(const Ticket& ticket, const std::function<void(std::uint64_t)>& body) const {
  const std::uint64_t batch = number(ticket);
  const auto [begin, count] = own_rows(batch);
  std::array<std::uint64_t, ids_at_once> ids;
  try {
    for (std::uint64_t done = 0; done < count;) {
      const auto drawn =
          draw(batch, begin + done, std::span(ids).first(std::min<std::uint64_t>(ids.size(), count - done)));
      for (const auto id : std::span(ids).first(drawn)) body(id);
      done += drawn;
    }
  } catch (...) {
    // The error is not lost: operator() meets it again in its turn.
  }
}

Ticket LookAhead::operator()() {
  if (!dataset_.takes_hints()) return ticket_of(next_++, accum_);
  while (next_ != end_ && (drawn_.empty() || drawn_rows_ < rows_)) draw();
  const auto [ticket, rows] = drawn_.front();
  drawn_.pop_front();
  drawn_rows_ -= rows;
  if (rows > 0) planner_.each_own(ticket, [this](std::uint64_t id) { dataset_.prefetch(id); });
  return ticket;
}

void LookAhead::draw() {
  Drawn next{ticket_of(next_++, accum_), 0};
  planner_.each_own(next.ticket, [&](std::uint64_t id) {
    dataset_.hint(id);
    ++next.rows;
  });
  drawn_rows_ += next.rows;
  drawn_.push_back(next);
}

void LookAhead::restart(std::uint64_t number) {
  for (auto& [ticket, rows] : drawn_) planner_.each_own(ticket, [this](std::uint64_t id) { dataset_.forget(id); });
  drawn_.clear();
  drawn_rows_ = 0;
  next_ = number;
}

}  // namespace flowtrain
