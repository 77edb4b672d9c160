#pragma once
// The ranks of a world, one after the other, in this process: what each of them takes from the stream.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/registry.h"
#include "stages/loader/batch_planner.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::testing {

inline std::unique_ptr<Order> make_order(const std::string& name, const Dataset& dataset, std::uint64_t seed,
                                         const std::vector<std::pair<std::string, Value>>& values = {}) {
  const auto& entry = orders().at(name);
  return entry.make(settings_for(entry.keys, values, "order"), {dataset, seed});
}

/// Counts how often it is asked.
class CountingOrder : public Order {
 public:
  explicit CountingOrder(const Order& order) : order_(order) {}
  std::uint64_t size() const override { return order_.size(); }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    asked_.fetch_add(1, std::memory_order_relaxed);
    return order_.at(epoch, index);
  }
  std::uint64_t asked() const { return asked_; }

 private:
  const Order& order_;
  mutable std::atomic<std::uint64_t> asked_ = 0;
};

/// A slab whose rows hold a label and nothing else.
class RowSlab {
 public:
  /// `rows`: the most that a rank takes of a batch.
  explicit RowSlab(std::uint64_t rows)
      : layout_({{"label", DType::i64, {}}}, static_cast<std::uint32_t>(rows)), slab_(layout_, *device_) {}

  Slab& operator*() { return slab_; }

 private:
  SlabLayout layout_;
  std::unique_ptr<Device> device_ = make_cpu_device();
  Slab slab_;
};

inline Ticket ticket_of(std::uint64_t iteration, std::uint16_t micro = 0) {
  Ticket ticket;
  ticket.iteration = iteration;
  ticket.micro = micro;
  return ticket;
}

/// What the ranks of a world take of one batch.
struct Taken {
  std::vector<StreamRow> rows;            ///< of all, rank 0's first; without those that only fill in
  std::uint64_t least = ~0ull, most = 0;  ///< rows of a rank
  std::uint64_t empty = 0;                ///< ranks that got a slab without a row
};

/// Asks each rank's own stage for its slab of the ticket's batch.
inline Taken take(const Order& order, const Batches& batches, std::uint64_t world, const Ticket& ticket, RowSlab& slab,
                  std::uint32_t accum = 1) {
  Taken taken;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    const BatchPlanner planner(order, batches, {rank, world}, accum, 4);
    planner(ticket, *slab);
    taken.empty += (*slab).rows().empty();
    const std::uint64_t own = (*slab).share() > 0 ? (*slab).rows().size() : 0;
    taken.least = std::min(taken.least, own);
    taken.most = std::max(taken.most, own);
    for (auto& row : (*slab).rows().first(own)) taken.rows.push_back({row.position, row.id});
  }
  return taken;
}

/// Whether the ranks took, in order, just what a single process takes.
inline bool is_whole(const Taken& taken, const std::vector<StreamRow>& whole) {
  return std::ranges::equal(taken.rows, whole,
                            [](auto& a, auto& b) { return a.position == b.position && a.id == b.id; });
}

}  // namespace flowtrain::testing
