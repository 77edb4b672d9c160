#include "stages/loader/batch_planner.h"

#include <algorithm>
#include <array>

#include "stages/core/error_context.h"

namespace flowtrain {

namespace {
constexpr std::size_t ids_at_once = 64;
}

std::uint64_t BatchPlanner::rows_of(std::uint64_t number) const {
  if (!plan_ || !plan_->bucketed) return batches_.rows(number);
  return plan_->bucketed->rows(batches_.epoch(number), batches_.index(number, 0));
}

void BatchPlanner::whole_batch(std::uint64_t number, std::vector<std::uint64_t>& ids) const {
  if (plan_->bucketed) {
    plan_->bucketed->batch(batches_.epoch(number), batches_.index(number, 0), ids);
    return;
  }
  ids.resize(batches_.rows(number));
  for (std::size_t row = 0; row < ids.size();) row += draw(number, row, std::span(ids).subspan(row));
}

void BatchPlanner::find_planned(std::uint64_t number, std::span<const GroupRows> own, PlanningMemory& planned) const {
  planned.items.clear();
  if (!plan_->packed) whole_batch(number, planned.whole);
  for (auto& [begin, rows, group] : own)
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t row = begin + i;
      const auto place = static_cast<std::uint32_t>(i);
      if (plan_->packed)
        add_packed(number, row, place, planned);
      else
        planned.items.push_back({{position_of(number, row), planned.whole[row]}, {.row = place, .group = group}});
    }
}

void BatchPlanner::add_packed(std::uint64_t number, std::uint64_t row, std::uint32_t place,
                              PlanningMemory& planned) const {
  auto& pieces = planned.pieces;
  plan_->packed->row(batches_.epoch(number), batches_.index(number, row), pieces);
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::uint32_t begin = pieces[piece].begin;
    const std::uint32_t end = piece + 1 < pieces.size() ? pieces[piece + 1].begin : plan_->packed->row_length();
    planned.items.push_back(
        {{position_of(number, row) + piece, pieces[piece].id},
         {.row = place, .begin = begin, .extent = end - begin, .segment = static_cast<std::int32_t>(piece + 1)}});
  }
}

void BatchPlanner::reserve(PlanningMemory& planned) const {
  if (plan_->packed)
    planned.pieces.reserve(plan_->most_pieces);
  else
    planned.whole.reserve(most_whole_);
  planned.shape.extents.reserve(plan_->axes());
  planned.shape.groups.reserve(plan_->groups.size());
}

// The extents are those of the whole batch, so that a row has the same bytes at any number of processes.
std::uint32_t BatchPlanner::fill_planned(const Ticket& ticket, Slab& slab) const {
  PlanningMemory& planned = slab.planning();
  BatchShape& shape = planned.shape;
  reserve(planned);
  planned.items.reserve(slab.layout().records());
  const std::uint64_t batch = number(ticket);
  GroupRows one;
  const auto own = own_groups(batch, one);
  find_planned(batch, own, planned);
  shape.rows = 0;
  shape.groups.clear();
  for (auto& group : own) {
    shape.rows += static_cast<std::uint32_t>(group.rows);
    if (!own_groups_.empty()) shape.groups.push_back(static_cast<std::uint32_t>(group.rows));
  }
  shape.records = static_cast<std::uint32_t>(planned.items.size());
  shape.extents.clear();
  const std::size_t size = plan_->sizes ? plan_->sizes->at(batch - ticket.micro, batches_, accum_) : 0;
  if (!plan_->packed) plan_->measure(planned.whole, size, shape.extents);
  const std::uint32_t chunks = std::min(shape.records, chunks_);
  slab.begin(ticket, batches_.epoch(batch), shape, chunks);
  for (auto to = slab.rows().begin(); auto& item : planned.items) {
    to->position = item.row.position;
    to->id = item.row.id;
    to++->place = item.place;
  }
  return chunks;
}

std::uint64_t BatchPlanner::position_of(std::uint64_t number, std::uint64_t row) const {
  if (plan_ && plan_->bucketed) return batches_.position(number, 0) * plan_->bucketed->most_rows() + row;
  return batches_.position(number, row) * (plan_ ? plan_->most_pieces : 1);
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
GroupRows BatchPlanner::own_rows(std::uint64_t number) const {
  const std::uint64_t whole = rows_of(number), own = slice_.rows(whole);
  return own > 0 ? GroupRows{slice_.begin(whole), own} : GroupRows{0, 1};
}

std::span<const GroupRows> BatchPlanner::own_groups(std::uint64_t number, GroupRows& one) const {
  if (!own_groups_.empty()) return own_groups_;
  one = own_rows(number);
  return {&one, 1};
}

// Slab::share explains it. A batch at the end of a padded epoch has fewer rows than the iteration's others.
double BatchPlanner::share_of(const Ticket& ticket) const {
  const std::uint64_t batch = number(ticket), first = batch - ticket.micro;
  std::uint64_t rows = 0;
  for (std::uint64_t each = first; each < first + accum_; ++each) rows += rows_of(each);
  std::uint64_t own = own_groups_.empty() ? slice_.rows(rows_of(batch)) : 0;
  for (auto& group : own_groups_) own += group.rows;
  return static_cast<double>(own) * static_cast<double>(slice_.world * accum_) / static_cast<double>(rows);
}

std::uint32_t BatchPlanner::operator()(const Ticket& ticket, Slab& slab) const {
  slab.set_share(share_of(ticket));
  if (plan_) return fill_planned(ticket, slab);
  const std::uint64_t batch = number(ticket);
  const auto [begin, count, group] = own_rows(batch);
  const auto rows = static_cast<std::uint32_t>(count);
  const std::uint32_t chunks = std::min(rows, chunks_);
  slab.begin(ticket, batches_.epoch(batch), rows, chunks);
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
  const std::uint64_t batch = number(ticket);
  std::vector<StreamRow> all;
  if (plan_ && plan_->chooses_rows()) {
    PlanningMemory planned;
    const GroupRows whole{0, rows_of(batch)};
    find_planned(batch, {&whole, 1}, planned);
    for (auto& item : planned.items) all.push_back(item.row);
    return all;
  }
  all.resize(batches_.rows(batch));
  for (std::uint64_t row = 0; auto& each : all) each = row_of(batch, row++);
  return all;
}

void BatchPlanner::each_own(const Ticket& ticket, PlanningMemory& memory,
                            const std::function<void(std::uint64_t)>& body) const {
  const std::uint64_t batch = number(ticket);
  GroupRows one;
  const auto own = own_groups(batch, one);
  std::array<std::uint64_t, ids_at_once> ids;
  if (plan_ && plan_->chooses_rows()) {
    find_planned(batch, own, memory);
    for (auto& item : memory.items) body(item.row.id);
    return;
  }
  try {
    for (auto& [begin, count, group] : own)
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
  if (rows > 0) planner_.each_own(ticket, planning_, [this](std::uint64_t id) { dataset_.prefetch(id); });
  return ticket;
}

void LookAhead::draw() {
  Drawn next{ticket_of(next_++, accum_), 0};
  planner_.each_own(next.ticket, planning_, [&](std::uint64_t id) {
    dataset_.hint(id);
    ++next.rows;
  });
  drawn_rows_ += next.rows;
  drawn_.push_back(next);
}

void LookAhead::restart(std::uint64_t number) {
  for (auto& [ticket, rows] : drawn_)
    planner_.each_own(ticket, planning_, [this](std::uint64_t id) { dataset_.forget(id); });
  drawn_.clear();
  drawn_rows_ = 0;
  next_ = number;
}

}  // namespace flowtrain
