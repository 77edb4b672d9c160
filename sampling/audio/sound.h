#pragma once
// Reads and writes recordings: WAV by code of its own, FLAC, Ogg and MP3 by libsndfile.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain {

class ByteSource;

/// The form of a recording, as its header tells it. A frame is one sample of each channel.
struct SoundForm {
  std::uint64_t frames = 0;
  std::uint32_t channels = 0;
  std::uint32_t rate = 0;  ///< frames a second
};

/// A decoded recording.
struct Sound {
  std::vector<float> samples = {};  ///< channels interleaved; full scale is 1
  std::uint32_t channels = 0;
  std::uint32_t rate = 0;  ///< frames a second

  std::uint64_t frames() const { return channels == 0 ? 0 : samples.size() / channels; }
};

/// Says whether a recording is damaged if all its samples have the same value.
enum class Silence : std::uint8_t { refuse, keep };

/// Returns the form of a WAV, FLAC, Ogg or MP3 file by its header. Throws SampleError if it is none of them, has no
/// frames, or a WAV header promises more frames than the file holds; UserError(data) without libsndfile, which is
/// needed for all but WAV files of plain numbers.
SoundForm sound_form(std::span<const std::byte> file);
/// Returns the form of a recording that is a range of a file, of which little is read. Throws std::runtime_error if the
/// file cannot be read, too.
SoundForm sound_form(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes);

/// Decodes a recording whole and reuses the memory of `into`. Integers of n bits become multiples of 2^(1-n). Throws as
/// sound_form(), and SampleError for a file that is cut off or damaged, for samples that are not finite numbers, for a
/// silent one unless `silence` keeps it, and for more than 1 GiB of samples.
void decode_sound(std::span<const std::byte> file, Sound& into, Silence silence = Silence::refuse);

/// Replaces `into` by a WAV file of the frames from `begin` seconds to `end` seconds (< 0: to the end) of a recording,
/// both rounded to the nearest frame. Of a WAV file only that range of bytes is read; of others a WAV file of floats is
/// made. Throws as decode_sound(), and SampleError if the recording ends before `end` by more than a tenth of a second.
void cut_sound(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes, double begin, double end,
               std::vector<std::byte>& into);
/// A range of a recording's frames.
struct FrameRange {
  std::uint64_t first, frames;
};
/// Returns the frames that cut_sound() takes. Throws SampleError as it does.
FrameRange frames_between(const SoundForm& form, double begin, double end);

/// Returns the usual ending of a file of this kind, by its first bytes: "wav", "flac", "ogg" or "mp3". Throws
/// SampleError if it is none of them.
const char* sound_ending(std::span<const std::byte> file);

/// Replaces `into` by a WAV file of 16 bits a sample; samples beyond full scale are clipped.
void encode_wav(const Sound& sound, std::vector<std::byte>& into);
/// Replaces `into` by a FLAC file of the same samples: of 16 bits or, if these do not suffice, of 24. Returns false if
/// 24 bits do not suffice either, or FLAC has no such number of channels or rate. Throws UserError(data) without
/// libsndfile.
bool encode_flac(const Sound& sound, std::vector<std::byte>& into);

}  // namespace flowtrain
