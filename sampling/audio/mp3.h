#pragma once
// Counts the frames of MP3 files (ISO 11172-3 and 13818-3, layer III) without decoding them: libsndfile guesses the
// length of a file whose first frame does not tell it by the file's size, and ends there without a word.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// The beginning of the sound of an MP3 file.
struct Mp3Start {
  std::uint64_t first = 0;                 ///< byte of the first frame with sound
  std::array<std::byte, 4> header = {};    ///< the header of that frame
  std::optional<std::uint64_t> told = {};  ///< frames that a Xing, Info or VBRI header before it tells of
  bool is_read = false;                    ///< libsndfile reads that header
};

/// Returns where the sound of a file begins, behind tags; nothing if it has no frames of layer III of a known size.
std::optional<Mp3Start> mp3_start(const ByteSource& file);

/// Returns the number of frames, of which each has 1152 or 576 samples a channel, by the headers of all. Throws
/// SampleError if other bytes are between two of them, and if there are more than the header before them tells of.
std::uint64_t count_mp3_frames(const ByteSource& file, const Mp3Start& start);

/// Makes a header that tells of so many frames, to stand before a file's first frame with sound.
std::vector<std::byte> mp3_header(const Mp3Start& start, std::uint64_t frames);

}  // namespace flowtrain
