#pragma once
// A folder of recordings in memory: noises, or impulse responses of rooms.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

class Settings;
class Stream;

/// Mono recordings of one rate.
class SoundLibrary {
 public:
  /// Decodes all recordings of the folder or .tar archive that a key names, in parallel, and resamples the mean of
  /// their channels. Throws UserError(data) at the key for a folder without recordings, for a damaged one, for one that
  /// is longer than `most_seconds`, and for more than 4 GiB of samples.
  SoundLibrary(const Settings& settings, const char* key, std::uint32_t rate,
               double most_seconds = std::numeric_limits<double>::infinity());

  /// Returns one of the recordings, drawn.
  std::span<const float> draw(Stream& random) const;

 private:
  std::vector<std::vector<float>> sounds_;
};

/// Replaces the first channel of frames by the mean of all, or by one channel, and removes the others.
void mix_down(std::vector<float>& samples, std::uint32_t channels, std::int64_t channel);

/// Adds noise, repeated if it is shorter, from a drawn place on: the mean power of the signal is `decibels` above it.
void add_noise(std::span<float> signal, std::span<const float> noise, double decibels, Stream& random);

/// Convolves a signal with the impulse response of a room, whose greatest value gets time 0, and gives it its mean
/// power back.
void reverberate(std::span<float> signal, std::span<const float> response);

}  // namespace flowtrain
