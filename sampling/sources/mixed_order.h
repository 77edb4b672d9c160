#pragma once
// The order of a data set that combines several sources, each of which keeps an order of its own: the sources take
// turns, and the source of a place in the sequence is a pure function of the place.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/order.h"

namespace flowtrain {

/// Distributes `total` things by weights > 0: each gets its exact share, rounded down or up, so that nothing is left
/// (the greatest remainders are rounded up; of equal ones the first).
std::vector<std::uint64_t> shared_out(std::uint64_t total, std::span<const double> weights);

/// Writes the records from `position` on of an order's endless sequence, which is its epochs one after the other.
void fill_endless(const Order& order, std::uint64_t position, std::span<std::uint64_t> ids);

/// A sequence in which source s has `turns[s]` turns, as evenly spread as possible: a balanced binary tree over the
/// sources, by their number of turns, in each of whose nodes the two sides take turns along J. Bresenham's line
/// ("Algorithm for computer control of a digital plotter", IBM Systems Journal 4, 1965). Its memory does not depend on
/// its length; a place costs about log2(sources) divisions. In the first m places, each source has had its share of the
/// m turns up to half a turn with two sources, less than a turn with up to four, less than one and a half with up to
/// eight, and so on. Any thread.
class Interleaving {
 public:
  /// Takes at least one source, each with at least one turn.
  explicit Interleaving(std::span<const std::uint64_t> turns);

  struct Turn {
    std::size_t source;
    std::uint64_t number;  ///< number of this turn among those of its source, from 0
  };

  /// Returns the number of all turns.
  std::uint64_t size() const { return size_; }
  /// Returns the turn at `place` < size().
  Turn at(std::uint64_t place) const;

 private:
  struct Node {
    std::uint64_t turns;  ///< turns of both sides
    std::uint64_t left_turns;
    std::size_t left, right;  ///< a source, or a node, whose numbers come after those of the sources

    /// Returns how many of the first `places` turns are the left side's.
    std::uint64_t left_of(std::uint64_t places) const;
  };
  std::size_t build(std::span<const std::size_t> sources, std::span<const std::uint64_t> turns);

  std::size_t sources_;
  std::uint64_t size_ = 0;
  std::vector<Node> nodes_;
  std::size_t root_;  ///< a number like Node::left
};

/// One source of a MixedOrder.
struct OrderedSource {
  std::unique_ptr<Order> order;  ///< order of the source's own ids, from 0
  std::uint64_t first_id = 0;    ///< the id of its record 0 in the whole
  std::uint64_t turns = 1;       ///< turns per epoch; > 0
};

/// A turn is `run` positions of one source. Each source's turns continue its own order where the ones before left it,
/// also from the epoch before; at its end, its own next epoch begins.
class MixedOrder : public Order {
 public:
  /// Takes at least one source; `run` > 0.
  MixedOrder(std::vector<OrderedSource> sources, std::uint64_t run);

  std::uint64_t size() const override { return interleaving_.size() * run_; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override;
  void fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const override;

 private:
  struct Place {
    std::size_t source;
    std::uint64_t position;  ///< position in the source's own endless order
  };
  Place place(std::uint64_t epoch, std::uint64_t index) const;
  void fill_some(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const;

  std::vector<OrderedSource> sources_;
  std::uint64_t run_;
  Interleaving interleaving_;
};

/// The end of an epoch of several sources.
enum class EpochEnd : std::uint8_t {
  shortest,  ///< the epoch ends when one source is through
  longest,   ///< the epoch ends when all have been through at least once
};

/// Returns the turns of an epoch: `sizes` are the positions of the sources' epochs, `weights` > 0 their shares.
std::uint64_t turns_of_epoch(EpochEnd end, std::span<const std::uint64_t> sizes, std::span<const double> weights,
                             std::uint64_t run);

}  // namespace flowtrain
