#pragma once
// Finishes rows where they are sampled, for users of batches without a compute stage that would do it.

#include <memory>

#include "sampling/sampler.h"

namespace flowtrain {

/// Returns whether a field is a picture (height, width, channels) of bytes, which batches hold as normalised f32.
bool is_picture(const Field& field);
/// Returns whether a field is an `image` (height, width, channels) of f32: its sampler has normalised it.
bool is_finished_image(const Field& field);

/// Wraps `sampler` so that its pictures are (channels, height, width) f32 with the bits that compute would make of
/// them: bytes, whatever the field's name, become (x / 255 - mean) / stddev if `finish_bytes`; an `image` of f32 only
/// changes the order of its axes. A sampler without such fields comes back as it is.
std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler, bool finish_bytes = true);

}  // namespace flowtrain
