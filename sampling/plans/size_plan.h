#pragma once
// The sizes of pictures that change over a run (progressive resizing) or are drawn (multi-scale training).

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sampling/batches.h"

namespace flowtrain {

struct SizeOptions {
  std::size_t sizes;  ///< number of sizes; > 0
  std::uint64_t seed = 0;
  bool grows = false;  ///< the run begins with the first size and ends with the last; false: each iteration draws one
  /// Growing sizes: iterations, from 0, with which each further size begins; empty: the run has equal stages.
  std::vector<std::uint64_t> starts = {};
  std::uint64_t iterations = 0, epochs = 0;  ///< equal stages: the run's length, of which one is > 0
};

/// Chooses the size of each iteration's pictures: drawn as in J. Redmon and A. Farhadi, "YOLO9000", CVPR 2017, or
/// growing in stages as in M. Tan and Q. Le, "EfficientNetV2", ICML 2021. It is a pure function of the iteration's
/// number in the stream, so all processes and all micro-batches of an iteration have one size.
class SizePlan {
 public:
  explicit SizePlan(SizeOptions options) : options_(std::move(options)) {}

  /// Returns the number, from 0, of the size of an iteration of `accum` batches, of which the first is number `first`
  /// of `batches`.
  std::size_t at(std::uint64_t first, const Batches& batches, std::uint32_t accum) const;
  /// Returns the iteration, from 0, with which a size begins in a plan that grows.
  std::uint64_t start(std::size_t size, const Batches& batches, std::uint32_t accum) const;
  bool grows() const { return options_.grows; }
  /// Returns whether the run's length decides when it grows.
  bool goes_by_run() const { return options_.grows && options_.starts.empty() && options_.sizes > 1; }

 private:
  SizeOptions options_;
};

}  // namespace flowtrain
