#pragma once
// Processes lines of pixels in the widest vectors of this processor.

#include <cstddef>
#include <cstdint>

#include "sampling/images/pixel_rule.h"

namespace flowtrain::finishing {

/// Computes to[i] = from[i] · scale[i] + shift[i] for `count` values, rounded after each of the two on every processor.
void normalise(const std::uint8_t* from, const float* scale, const float* shift, std::size_t count, float* to);

/// Computes to[i] = from[i] · (1/255), 0 … 1, for `count` values.
void to_unit_floats(const std::uint8_t* from, std::size_t count, float* to);

/// Computes to[i] = own · to[i] + (1 - own) · other[i], rounded after each of the three.
void blend(const float* other, float own, std::size_t count, float* to);

/// Changes the colours of RGB pixels (pixel_rule.h).
void tint(const std::uint8_t* from, std::size_t pixels, const Tint& tint, float grey, std::uint8_t* to);

/// Returns the mean grey level of RGB pixels (pixel_rule.h), pixels > 0.
float mean_grey(const std::uint8_t* from, std::size_t pixels);

/// Transposes (pixels, channels) to (channels, pixels).
void split(const std::uint8_t* from, std::size_t pixels, int channels, std::uint8_t* to);

}  // namespace flowtrain::finishing
