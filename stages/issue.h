#pragma once
// The first stage: gives a slab the positions and records of its batch.

#include "sampling/batches.h"
#include "sampling/order.h"
#include "stages/slab.h"

namespace flowtrain {

/// Pure in the ticket: batch number = (iteration - 1) · accum + micro. Any thread.
class IssueStage {
 public:
  /// `accum` micro-batches make an iteration; slabs are handled in up to `chunks` parts.
  IssueStage(const Order& order, Batches batches, std::uint32_t accum, std::uint32_t chunks)
      : order_(order), batches_(batches), accum_(accum), chunks_(chunks) {}

  /// Prepares the slab and returns the number of chunks, > 0. Rethrows what the order throws, naming the position.
  std::uint32_t operator()(const Ticket& ticket, Slab& slab) const;

 private:
  const Order& order_;
  Batches batches_;
  std::uint32_t accum_, chunks_;
};

}  // namespace flowtrain
