#pragma once
// Reads WAV files of plain numbers: Microsoft's RIFF, or RF64 for more than 4 GiB, with PCM or IEEE floats.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sampling/audio/sound.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

/// A range of a file as a file of its own. `file` must outlive it.
class FileRange final : public ByteSource {
 public:
  FileRange(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes)
      : file_(file), offset_(offset), size_bytes_(size_bytes) {}

  std::uint64_t size_bytes() const override { return size_bytes_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  const ByteSource& file_;
  const std::uint64_t offset_, size_bytes_;
};

/// The place and type of the samples of a WAV file.
struct WavLayout {
  SoundForm form = {};
  bool is_float = false;
  std::uint32_t sample_bytes = 0;  ///< 1 to 4, or 8 for floats; integers of one byte are unsigned
  std::uint64_t data_offset = 0;

  std::uint32_t frame_bytes() const { return sample_bytes * form.channels; }
};

/// Returns the layout by the file's header; nothing if it is no WAV file of plain numbers. Throws SampleError for a
/// header that is damaged or promises more than the file holds, whatever the samples are.
std::optional<WavLayout> wav_layout(const ByteSource& file);

/// Converts samples as the layout stores them. Throws SampleError for one that is not a finite number.
void decode_samples(const WavLayout& layout, std::span<const std::byte> stored, std::vector<float>& into);

/// Throws SampleError if one of the interleaved samples is NaN or infinite.
void check_finite(std::span<const float> samples, std::uint32_t channels);

/// Replaces `into` by the header of a WAV file of this layout; form.frames · frame_bytes() bytes of samples follow it,
/// for which there is room. Returns where they begin.
std::size_t begin_wav(const WavLayout& layout, std::vector<std::byte>& into);

}  // namespace flowtrain
