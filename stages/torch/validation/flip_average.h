#pragma once
// Averages over mirror images are a test-time augmentation.

#include <memory>

#include "nets/net.h"

namespace flowtrain {

/// A net whose `logits` (B, K) or (B, K, H, W) are the means of those that `net` gives for `image` (B, C, H, W) and for
/// its mirror image; those of pixels are mirrored back. (torchvision's TenCrop averages raw outputs in the same way.)
/// Its other outputs are those of the image as it is. It has net's tensors, which it shares. For evaluation alone.
/// forward() throws std::invalid_argument where there is no such image, or there are no such logits.
std::unique_ptr<nets::Net> average_over_flips(std::shared_ptr<nets::Net> net);

}  // namespace flowtrain
