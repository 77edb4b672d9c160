#pragma once
// Recordings as the transforms of speech take them: decoded, mixed, resampled, cut and augmented.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/audio/sound_library.h"
#include "sampling/transforms/counted_warning.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {

/// Returns the keys of transforms that begin with a recording, and `more` behind them.
std::vector<Key> recording_keys(std::vector<Key> more);
/// Throws UserError(usage) at the first of `keys` that is not at its default although it has no effect, since what it
/// needs is not there; `needed` names that.
void check_needed(const Settings& settings, bool is_there, const char* needed, std::initializer_list<const char*> keys);

/// The samples of recordings: decoded, of one channel or of several, at another speed, resampled to `rate`, padded and
/// cut; then with reverberation, noise and gain. Augmentations are drawn in this order, and in training only. Const and
/// used by many threads at once.
class Recordings {
 public:
  /// Throws UserError(usage) for a part that is no recording and for keys that do not fit together, UserError(data) for
  /// folders of noises or impulse responses that cannot be used.
  Recordings(const Settings& settings, const PartForm& from, bool training);

  std::uint32_t rate() const { return rate_; }
  /// Returns the channels that each recording must have; 1 where they are mixed or one is taken.
  std::uint32_t channels() const { return channels_; }
  /// Returns the greatest number of frames that are made.
  std::int64_t most_frames() const { return most_; }

  /// The least and the greatest number of frames that may be made of a record.
  struct Range {
    std::int64_t least, greatest;
  };
  /// Returns the range: one number without drawn speeds. Reads no more than the header of the recording. Throws
  /// SampleError, for a recording that is too long only if it is so at each speed.
  Range frames(const Record& record) const;
  /// Returns the samples, channels interleaved, which stay until this thread asks for others. Throws SampleError.
  std::span<float> operator()(const Record& record, Stream& random) const;

 private:
  /// Throws SampleError if `frames` are more than `max`, and this is an error.
  void check_longest(std::int64_t frames) const;
  void cut(std::vector<float>& samples, Stream& random) const;

  PartForm from_;
  bool training_;
  std::uint32_t rate_, channels_;
  std::int64_t channel_, most_, padded_;
  enum class Longer { cut, crop, error } longer_;
  CountedWarning cut_;
  std::vector<double> speeds_ = {1}, gain_, noise_snr_;
  double noise_probability_, reverb_probability_;
  std::optional<SoundLibrary> noises_, rooms_;
};

/// Writes `length` to a field of the length of another one: i64.
void put_length(std::int64_t length, std::byte* to);

}  // namespace flowtrain
