#pragma once
// A training step with a batch of any size, to see how much memory it takes.

#include <cstdint>
#include <functional>
#include <optional>

#include "stages/compute.h"

namespace flowtrain {

/// Makes batches of a few rows, over and over: memory depends on their form, which is fixed, and on their number.
class BatchTrial {
 public:
  /// Whoever holds `few`'s ticket makes the trial.
  BatchTrial(Slab& few, MemoryProbe& probe) : few_(few), probe_(probe) {}

  /// How many slabs a run has at most, given the bytes of one.
  std::function<std::uint32_t(std::size_t batch_bytes)> slabs;
  /// Bytes that batches may take of the machine's memory where they are copied to a device's.
  std::uint64_t host_limit = 0;

  /// Bytes that a step and all slabs take where the net computes; nothing where they do not fit.
  std::optional<std::uint64_t> operator()(std::uint32_t rows);

 private:
  void fill(Slab& slab, std::uint32_t rows) const;

  Slab& few_;
  MemoryProbe& probe_;
};

}  // namespace flowtrain
