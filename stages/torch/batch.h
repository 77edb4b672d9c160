#pragma once
// The one adapter between slabs and tensors.

#include <ATen/core/Tensor.h>

#include <vector>

#include "nets/tensors.h"
#include "stages/slab.h"

namespace flowtrain {

/// Makes named tensors of a slab's rows. Fields are views into the slab; u8 pictures (B, H, W, C) become f32
/// (B, C, H, W), (x / 255 - mean) / stddev, in memory that is kept from batch to batch. An f32 `image` (B, H, W, C) is
/// finished: it becomes a view (B, C, H, W).
class BatchAdapter {
 public:
  /// `where`: the device that the slabs' memory is on.
  BatchAdapter(const SlabLayout& layout, at::Device where, bool channels_last);
  /// The tensors are good until the next call, or until the slab is given back.
  nets::NamedTensors operator()(Slab& slab);

 private:
  struct Picture {
    std::size_t field;
    std::vector<float> mean, stddev;  // per channel, of values in 0 … 1
    at::Tensor shift, scale;          // x · scale + shift, shaped to broadcast over (B, C, H, W)
    at::Tensor pixels;                // f32 (B, C, H, W) for a full batch
  };
  at::Tensor view(Slab& slab, std::size_t field) const;
  at::Tensor normalised(Slab& slab, Picture& picture);

  const SlabLayout& layout_;
  at::Device where_;
  std::vector<Picture> pictures_;
};

}  // namespace flowtrain
