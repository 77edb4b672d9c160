#pragma once
// Rows as a net takes them, made where they are sampled: for who gets batches without a compute stage that would do it.

#include <memory>

#include "sampling/sampler.h"

namespace flowtrain {

/// The rows of `sampler` with its `image`s of bytes, (height, width, channels) u8, as (channels, height, width) f32,
/// (x / 255 - mean) / stddev: the bits that compute would make of them. A sampler without such images comes back as it
/// is.
std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler);

}  // namespace flowtrain
