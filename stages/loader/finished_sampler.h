#pragma once
// Rows as a net takes them, made where they are sampled: for who gets batches without a compute stage that would do it.

#include <memory>

#include "sampling/sampler.h"

namespace flowtrain {

/// Whether a field is a picture (height, width, channels) of bytes, which batches hold as normalised f32.
bool is_picture(const Field& field);
/// Whether a field is an `image` (height, width, channels) of f32: its sampler has normalised it.
bool is_finished_image(const Field& field);

/// The rows of `sampler` with its pictures as (channels, height, width) f32, the bits that compute would make of them:
/// those of bytes, whatever their name, if `finish_bytes`, become (x / 255 - mean) / stddev; an `image` of f32 only
/// changes the order of its axes. A sampler without such fields comes back as it is.
std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler, bool finish_bytes = true);

}  // namespace flowtrain
