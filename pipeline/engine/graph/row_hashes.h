#pragma once
// Hashes of the rows of a batch, for verify.jsonl.

#include <cstdint>
#include <span>
#include <vector>

#include "stages/loader/slab.h"

namespace flowtrain {

/// One hash (XXH3, 64 bits) for each field of each row, over the bytes that the sample stage wrote. The memory is
/// allocated once and reused for each batch.
class RowHashes {
 public:
  explicit RowHashes(const SlabLayout& layout) : values_(layout.records() * layout.fields().size()) {}

  /// Hashes `rows`, which are some of the slab's. Many threads call it at once for different rows.
  void hash(const Slab& slab, std::span<const RowWork> rows);
  /// Returns hashes row by row, the fields of each in their order; those beyond the batch's rows are meaningless.
  std::span<const std::uint64_t> values() const { return values_; }

 private:
  std::vector<std::uint64_t> values_;
};

}  // namespace flowtrain
