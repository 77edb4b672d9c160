#pragma once
// Changes the rate of recordings by libsoxr.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowtrain {

/// Returns the frames that `frames` frames at the rate `from` become at the rate `to`: the nearest number.
std::int64_t resampled_frames(std::uint64_t frames, double from, std::uint32_t to);

/// Replaces `samples`, `channels` interleaved ones a frame, which has the rate `from`, by those at the rate `to`, with
/// libsoxr's quality HQ; resampled_frames() tells how many. A rate `from` beyond the true one makes speech faster and
/// higher. Does nothing for equal rates. libsoxr is opened at the first use. Throws UserError(data) if there is none,
/// and SampleError for more than 1 GiB of samples.
void resample(std::vector<float>& samples, std::uint32_t channels, double from, std::uint32_t to);

}  // namespace flowtrain
