// A shuffle that reads mostly in sequence: blocks of consecutive records are shuffled, and the records of
// `mixed_blocks` blocks are mixed. It is like a shuffle buffer over shards, but a pure function: any position is
// reached at once.

#include <algorithm>

#include "sampling/orders/entries.h"

namespace flowtrain {
namespace {

class BlockShuffle : public Order {
 public:
  BlockShuffle(std::uint64_t samples, std::uint64_t seed, std::uint64_t block, std::uint64_t window)
      : samples_(samples),
        seed_(seed),
        block_(std::min(block, samples)),
        window_(window),
        blocks_((samples + block_ - 1) / block_),
        missing_(blocks_ * block_ - samples) {}

  std::uint64_t size() const override { return samples_; }

  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    const Permutation block_order(blocks_, permutation_key(seed_, epoch, 0));
    // All blocks are full but the last one stored, which lacks `missing_` records and is somewhere in the order.
    // Positions are mapped as if it were full: those after the gap move up by its size.
    const auto short_slot = block_order.inverse(blocks_ - 1);
    const auto short_group = short_slot / window_;
    const auto group_capacity = window_ * block_;
    const bool behind = index >= (short_group + 1) * group_capacity - missing_;
    const auto group = (behind ? index + missing_ : index) / group_capacity;
    const auto capacity = std::min(group_capacity, (blocks_ - group * window_) * block_);
    const auto first = group * group_capacity - (behind ? missing_ : 0);
    const Permutation mix(capacity - (group == short_group ? missing_ : 0), permutation_key(seed_, epoch, 1, group));

    auto place = mix(index - first);
    if (group == short_group && place >= (short_slot % window_ + 1) * block_ - missing_) place += missing_;
    return block_order(group * window_ + place / block_) * block_ + place % block_;
  }

 private:
  std::uint64_t samples_, seed_;
  std::uint64_t block_;   ///< records per block
  std::uint64_t window_;  ///< blocks mixed together: a group
  std::uint64_t blocks_;
  std::uint64_t missing_;  ///< number of records that the last block lacks
};

}  // namespace

OrderEntry block_shuffle_entry() {
  return {.name = "block_shuffle",
          .help = "every record once per epoch; consecutive records are read close together, which suits shards",
          .keys = {{"block", Kind::integer, 1024, "number of consecutive records that stay close together", 1, 1 << 30},
                   {"mixed_blocks", Kind::integer, 8, "number of blocks whose records are mixed", 1, 1 << 20}},
          .make = [](const Settings& settings, const OrderInput& input) -> std::unique_ptr<Order> {
            return std::make_unique<BlockShuffle>(samples_of(input), input.seed,
                                                  static_cast<std::uint64_t>(settings.integer("block")),
                                                  static_cast<std::uint64_t>(settings.integer("mixed_blocks")));
          }};
}

}  // namespace flowtrain
