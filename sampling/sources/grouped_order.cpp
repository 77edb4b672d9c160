#include "sampling/sources/grouped_order.h"

#include <algorithm>
#include <utility>

#include "sampling/sources/mixed_order.h"

namespace flowtrain {

GroupedOrder::GroupedOrder(std::vector<OrderedGroup> groups, std::uint64_t batches)
    : groups_(std::move(groups)), batches_(batches) {
  for (auto& group : groups_) rows_ += group.rows;
}

std::uint64_t GroupedOrder::at(std::uint64_t epoch, std::uint64_t index) const {
  std::uint64_t id = 0;
  fill(epoch, index, {&id, 1});
  return id;
}

// The rows of a group in a batch are consecutive positions of its source, so its order is asked for them at once.
void GroupedOrder::fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const {
  std::uint64_t batch = epoch * batches_ + first / rows_, row = first % rows_;
  for (; !ids.empty(); ++batch, row = 0) {
    for (const OrderedGroup& group : groups_) {
      const std::uint64_t skipped = std::min(row, group.rows);
      row -= skipped;
      const auto own = ids.first(std::min<std::uint64_t>(ids.size(), group.rows - skipped));
      fill_endless(*group.order, batch * group.rows + skipped, own);
      for (auto& id : own) id += group.first_id;
      ids = ids.subspan(own.size());
    }
  }
}

}  // namespace flowtrain
