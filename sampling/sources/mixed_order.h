#pragma once
// The order of a data set put together of several sources, each of which keeps an order of its own: the sources take
// turns, and whose turn it is is a pure function of the place in the sequence.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/order.h"

namespace flowtrain {

/// Shares `total` things out by weights > 0: each gets its exact share, rounded down or up, so that nothing is left
/// over (the greatest remainders are rounded up; of equal ones the first).
std::vector<std::uint64_t> shared_out(std::uint64_t total, std::span<const double> weights);

/// A sequence in which source s has `turns[s]` turns, as evenly spread as can be: a balanced binary tree over the
/// sources, by their number of turns, in each of whose nodes the two sides take turns along J. Bresenham's line
/// ("Algorithm for computer control of a digital plotter", IBM Systems Journal 4, 1965). No memory of its length; a
/// place costs log2(sources) divisions or so. In the first m places, each source has had its share of the m turns but
/// for half a turn where there are two sources, for less than a turn where there are up to four, less than one and a
/// half with up to eight, and so on. Any thread.
class Interleaving {
 public:
  /// One source at least, each with a turn at least.
  explicit Interleaving(std::span<const std::uint64_t> turns);

  struct Turn {
    std::size_t source;
    std::uint64_t number;  ///< which of this source's turns, from 0
  };

  /// All turns.
  std::uint64_t size() const { return size_; }
  /// The turn at `place` < size().
  Turn at(std::uint64_t place) const;

 private:
  struct Node {
    std::uint64_t turns;  ///< of both sides
    std::uint64_t left_turns;
    std::size_t left, right;  ///< a source, or behind all sources a node

    /// How many of the first `places` turns are the left side's.
    std::uint64_t left_of(std::uint64_t places) const;
  };
  std::size_t build(std::span<const std::size_t> sources, std::span<const std::uint64_t> turns);

  std::size_t sources_;
  std::uint64_t size_ = 0;
  std::vector<Node> nodes_;
  std::size_t root_;  ///< as Node::left
};

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
