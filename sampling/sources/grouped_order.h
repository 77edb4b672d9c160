#pragma once
// The order of batches whose rows are groups: each batch has so many rows of each source, which keeps an order of its
// own.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/order.h"

namespace flowtrain {

/// One source of a GroupedOrder.
struct OrderedGroup {
  std::unique_ptr<Order> order;  ///< order of the source's own ids, from 0
  std::uint64_t first_id = 0;    ///< the id of its record 0 in the whole
  std::uint64_t rows = 1;        ///< rows in each batch; > 0
};

/// A batch has the rows of the first group, then those of the next one, and so on. Row j of a group of r rows in batch
/// n, counted over all epochs, is position n × r + j of its source's own order, whose next epoch begins at its end.
class GroupedOrder : public Order {
 public:
  /// Takes at least one group, and the number of batches of an epoch, > 0.
  GroupedOrder(std::vector<OrderedGroup> groups, std::uint64_t batches);

  std::uint64_t size() const override { return batches_ * rows_; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override;
  void fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const override;

 private:
  std::vector<OrderedGroup> groups_;
  std::uint64_t batches_, rows_ = 0;
};

}  // namespace flowtrain
