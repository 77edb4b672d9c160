#pragma once
// The first stage: gives a slab the positions and records of its batch; and tickets drawn before their time, so that a
// source far away learns early what will be read.

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sampling/batches.h"
#include "sampling/order.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// A row of a batch before anything was read.
struct StreamRow {
  std::uint64_t position;  ///< in the stream; keys all random draws
  std::uint64_t id;        ///< record
};

/// Pure in the ticket. Any thread.
class BatchPlanner {
 public:
  /// `accum` micro-batches make an iteration; slabs hold this process's slice, handled in up to `chunks` parts.
  BatchPlanner(const Order& order, Batches batches, Slice slice, std::uint32_t accum, std::uint32_t chunks)
      : order_(order), batches_(batches), slice_(slice), accum_(accum), chunks_(chunks) {}

  /// Up to how many parts from now on; not while another thread uses this.
  void set_chunks(std::uint32_t chunks) { chunks_ = chunks; }
  /// Prepares the slab and returns the number of chunks, > 0. Rethrows what the order throws, naming positions.
  std::uint32_t operator()(const Ticket& ticket, Slab& slab) const;
  /// Positions and records of the whole batch, of all processes.
  std::vector<StreamRow> rows(const Ticket& ticket) const;
  /// Calls `body` with the record of each row of this process's slice. An order that throws ends that early: it will
  /// throw again when the batch is prepared.
  void each_own(const Ticket& ticket, const std::function<void(std::uint64_t)>& body) const;

 private:
  struct Own {
    std::uint64_t begin, rows;  ///< of the batch
  };
  Own own_rows(std::uint64_t number) const;
  std::uint64_t number(const Ticket& ticket) const { return batch_number(ticket, accum_); }
  double share_of(const Ticket& ticket) const;
  StreamRow row_of(std::uint64_t number, std::uint64_t row) const;
  /// The records of the first of `ids.size()` rows of batch `number`, from `row` on, into `ids`; returns how many.
  std::size_t draw(std::uint64_t number, std::uint64_t row, std::span<std::uint64_t> ids) const;

  const Order& order_;
  Batches batches_;
  Slice slice_;
  std::uint32_t accum_, chunks_;
};

/// Gives the tickets of a stream in their order. One thread at a time. Where the data set takes hints, the records of
/// batches up to `rows` rows ahead are hinted, and those of the batch that is given are prefetched.
class LookAhead {
 public:
  /// Batches `begin` to `end` - 1 of the stream, of which `accum` make an iteration. `planner` says what the rows of a
  /// ticket are; it and the data set must outlive this.
  LookAhead(std::uint64_t begin, std::uint64_t end, std::uint32_t accum, const BatchPlanner& planner,
            const Dataset& dataset, std::uint64_t rows)
      : next_(begin), end_(end), accum_(accum), planner_(planner), dataset_(dataset), rows_(rows) {}

  /// All tickets were given.
  bool over() const { return drawn_.empty() && next_ == end_; }
  /// The next ticket, unless it is over.
  Ticket operator()();
  /// The next ticket is that of batch `number` again. What was hinted and not yet given is forgotten.
  void restart(std::uint64_t number);

 private:
  struct Drawn {
    Ticket ticket;
    std::uint64_t rows;
  };
  void draw();

  std::uint64_t next_, end_;  // batches to draw
  std::uint32_t accum_;
  const BatchPlanner& planner_;
  const Dataset& dataset_;
  std::uint64_t rows_;
  std::deque<Drawn> drawn_;
  std::uint64_t drawn_rows_ = 0;
};

}  // namespace flowtrain
