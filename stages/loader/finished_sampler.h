#pragma once
// Finishes rows where they are sampled, for users of batches without a compute stage that would do it.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/images/pixel_rule.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Returns whether a field is a picture (height, width, channels) of bytes, which batches hold as normalised f32.
bool is_picture(const Field& field);
/// Returns the shape of a field of pictures in a batch with these extents of the free axes of all fields.
PictureShape shape_of(std::span<const Field> fields, std::size_t field, std::span<const std::int64_t> extents);
/// Returns whether a field is an `image` (height, width, channels) of f32: its sampler has normalised it.
bool is_finished_image(const Field& field);

/// Wraps `sampler` so that its pictures are (channels, height, width) f32 with the bits that compute would make of
/// them: bytes, whatever the field's name, become (x / 255 - mean) / stddev if `finish_bytes`; an `image` of f32 only
/// changes the order of its axes. A sampler without such fields comes back as it is. Pictures whose size differs
/// between batches have the shape (height, width, channels) as a field, since free axes lead; seen_shape() tells that
/// of values.
std::unique_ptr<Sampler> with_finished_images(std::unique_ptr<Sampler> sampler, bool finish_bytes = true);

/// Returns the shape of a field's values: its own, or (channels, height, width) of finished pictures of several sizes.
std::vector<std::int64_t> seen_shape(const Field& field);

}  // namespace flowtrain
