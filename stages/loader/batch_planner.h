#pragma once
// The first stage gives a slab the positions and records of its batch. It draws tickets ahead of time, so that a remote
// data set learns early which records will be read.

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "sampling/batches.h"
#include "sampling/order.h"
#include "stages/loader/shape_plan.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Fills slabs by a pure function of the ticket. Any thread.
class BatchPlanner {
 public:
  /// `accum` micro-batches make an iteration; slabs hold this process's slice, handled in up to `chunks` parts.
  /// With a `plan` that chooses rows, `batches` counts in its units instead of samples: in bucketed batches, of which
  /// one makes a batch, or in packed rows; the order is not asked. The plan must outlive this.
  BatchPlanner(const Order& order, Batches batches, Slice slice, std::uint32_t accum, std::uint32_t chunks,
               const ShapePlan* plan = nullptr)
      : order_(order), batches_(batches), slice_(slice), accum_(accum), chunks_(chunks), plan_(plan) {
    if (!plan) return;
    own_groups_ = plan->own_groups(slice);
    most_whole_ = plan->bucketed ? plan->bucketed->most_rows() : batches.size();
  }

  /// Sets the greatest number of chunks from now on; no other thread may use this meanwhile.
  void set_chunks(std::uint32_t chunks) { chunks_ = chunks; }
  /// Prepares the slab and returns the number of chunks, > 0. Rethrows exceptions of the order with the positions.
  std::uint32_t operator()(const Ticket& ticket, Slab& slab) const;
  /// Returns positions and records of the whole batch, of all processes, by rows.
  std::vector<StreamRow> rows(const Ticket& ticket) const;
  /// Calls `body` with the record of each row of this process's slice; `memory` is reused from call to call. An order
  /// that throws ends this early: it throws again when the batch is prepared.
  void each_own(const Ticket& ticket, PlanningMemory& memory, const std::function<void(std::uint64_t)>& body) const;

 private:
  std::uint64_t rows_of(std::uint64_t number) const;
  GroupRows own_rows(std::uint64_t number) const;
  /// Returns the rows that this process takes of each group; `one` holds those of a batch without groups.
  std::span<const GroupRows> own_groups(std::uint64_t number, GroupRows& one) const;
  /// Replaces `ids` by the records of a batch whose rows have one each.
  void whole_batch(std::uint64_t number, std::vector<std::uint64_t>& ids) const;
  /// Reserves what the largest batch takes.
  void reserve(PlanningMemory& planned) const;
  /// Replaces the items by the records of the rows `own` of a batch with a plan.
  void find_planned(std::uint64_t number, std::span<const GroupRows> own, PlanningMemory& planned) const;
  void add_packed(std::uint64_t number, std::uint64_t row, std::uint32_t place, PlanningMemory& planned) const;
  std::uint32_t fill_planned(const Ticket& ticket, Slab& slab) const;
  std::uint64_t position_of(std::uint64_t number, std::uint64_t row) const;
  std::uint64_t number(const Ticket& ticket) const { return batch_number(ticket, accum_); }
  double share_of(const Ticket& ticket) const;
  StreamRow row_of(std::uint64_t number, std::uint64_t row) const;
  /// Writes the records of the first of `ids.size()` rows of batch `number`, from `row` on, to `ids`; returns how many.
  std::size_t draw(std::uint64_t number, std::uint64_t row, std::span<std::uint64_t> ids) const;

  const Order& order_;
  Batches batches_;
  Slice slice_;
  std::uint32_t accum_, chunks_;
  const ShapePlan* plan_;              // null if rows have neither free axes nor groups
  std::vector<GroupRows> own_groups_;  // empty: batches have no groups
  std::size_t most_whole_ = 0;         // rows of the largest batch that the plan makes of them
};

/// Gives the tickets of a stream in their order. One thread at a time. If the data set takes hints, it hints the
/// records of batches up to `rows` rows ahead and prefetches those of the batch that is given.
class LookAhead {
 public:
  /// Covers batches `begin` to `end` - 1 of the stream, of which `accum` make an iteration. `planner` gives the rows of
  /// a ticket; it and the data set must outlive this.
  LookAhead(std::uint64_t begin, std::uint64_t end, std::uint32_t accum, const BatchPlanner& planner,
            const Dataset& dataset, std::uint64_t rows)
      : next_(begin), end_(end), accum_(accum), planner_(planner), dataset_(dataset), rows_(rows) {}

  /// Returns whether all tickets were given.
  bool over() const { return drawn_.empty() && next_ == end_; }
  /// Returns the next ticket; not to be called once over().
  Ticket operator()();
  /// Goes back to batch `number`, and forgets hints of tickets that were not given yet.
  void restart(std::uint64_t number);

 private:
  struct Drawn {
    Ticket ticket;
    std::uint64_t rows;
  };
  void draw();

  std::uint64_t next_, end_;  // range of batches to draw
  std::uint32_t accum_;
  const BatchPlanner& planner_;
  const Dataset& dataset_;
  std::uint64_t rows_;
  PlanningMemory planning_;
  std::deque<Drawn> drawn_;
  std::uint64_t drawn_rows_ = 0;
};

}  // namespace flowtrain
