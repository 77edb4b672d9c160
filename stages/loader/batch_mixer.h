#pragma once
// Random draws for the batch in a slab, on its way into the net.

#include "sampling/images/mix.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Draws for batches of one layout. One thread.
class BatchMixer {
 public:
  /// `accum` micro-batches make an iteration. Throws InternalError if the layout has no `image` of bytes.
  BatchMixer(const Mixing& mixing, const SlabLayout& layout, std::uint64_t seed, std::uint32_t accum);

  /// Returns the draws, a pure function of the slab's ticket and positions. They are valid until the next call.
  const BatchMix& operator()(const Slab& slab);

 private:
  Mixing mixing_;
  std::size_t image_;  // the field
  std::uint64_t seed_;
  std::uint32_t accum_;
  BatchMix drawn_;
};

}  // namespace flowtrain
