#pragma once
// The transforms `logmel` and `mfcc`, which differ in their keys and in the values of a frame.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {

/// Returns the entry of the transform `name`, logmel or mfcc.
TransformEntry speech_features_entry(const char* name, const char* help, std::vector<Key> own_keys);

/// Returns a picture of features (frames, width): time goes to the right, and the first value of a frame is at the
/// bottom.
Image spectrogram(std::span<const float> features, std::int64_t frames, std::int64_t width);

}  // namespace flowtrain
