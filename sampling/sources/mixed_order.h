#pragma once
// The order of a data set put together of several sources, each of which keeps an order of its own.

#include <memory>
#include <vector>

#include "sampling/order.h"
#include "sampling/sources/interleaving.h"

namespace flowtrain {

/// One source of a MixedOrder.
struct OrderedSource {
  std::unique_ptr<Order> order;  ///< of the source's own ids, from 0
  std::uint64_t first_id = 0;    ///< what its record 0 is called in the whole
  std::uint64_t turns = 1;       ///< in an epoch; > 0
};

/// A turn is `run` positions of one source. Each source's turns take up its own order where the ones before left it, in
/// the epoch before, too; when it is through, its own next epoch begins.
class MixedOrder : public Order {
 public:
  /// One source at least; `run` > 0.
  MixedOrder(std::vector<OrderedSource> sources, std::uint64_t run);

  std::uint64_t size() const override { return interleaving_.size() * run_; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override;
  void fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const override;

 private:
  struct Place {
    std::size_t source;
    std::uint64_t position;  ///< in the source's own endless order
  };
  Place place(std::uint64_t epoch, std::uint64_t index) const;
  void fill_some(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const;

  std::vector<OrderedSource> sources_;
  std::uint64_t run_;
  Interleaving interleaving_;
};

/// When an epoch of several sources ends.
enum class EpochEnd : std::uint8_t {
  shortest,  ///< when one is through
  longest,   ///< when all have been through once at least
};

/// Turns of an epoch: `sizes` are the positions of the sources' own epochs, `weights` > 0 their shares of all turns.
std::uint64_t turns_of_epoch(EpochEnd end, std::span<const std::uint64_t> sizes, std::span<const double> weights,
                             std::uint64_t run);

}  // namespace flowtrain
