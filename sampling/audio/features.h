#pragma once
// Features of recordings for speech recognition: logarithms of mel energies, and mel cepstra.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/audio/fourier.h"
#include "sampling/core/mistake.h"

namespace flowtrain {

/// The implementation whose values are computed: torchaudio.transforms.MelSpectrogram and MFCC, Kaldi's
/// compute-fbank-feats and compute-mfcc-feats, or openai/whisper's log_mel_spectrogram.
enum class FeatureValues : std::uint8_t { torchaudio, kaldi, whisper };

struct FeatureOptions {
  FeatureValues values = FeatureValues::kaldi;
  std::uint32_t rate = 16000;           ///< samples a second
  std::size_t length = 400, hop = 160;  ///< samples of a frame, and from one to the next
  std::size_t size = 512;               ///< samples of the Fourier transform, even, >= length
  std::size_t bins = 80;                ///< mel filters
  double low = 20, high = 8000;         ///< Hz of the first filter's beginning and the last one's end
  bool slaney = false;                  ///< Slaney's mel scale and filters of equal area instead of HTK's
  std::string window = "povey";         ///< povey, hann, hamming, blackman or rectangular
  double preemphasis = 0.97;
  bool snips = true;                      ///< only whole frames; false: half a frame is reflected at both ends
  double amplitude = 32768;               ///< factor of the samples
  double least = 1.1920928955078125e-07;  ///< bound of mel energies, or what torchaudio adds to them
  std::size_t coefficients = 0;           ///< cepstral coefficients; 0: mel energies
  double lifter = 0;                      ///< Kaldi's cepstral lifter; 0: none
  bool energy = false;                    ///< the first coefficient is the frame's log energy
  double least_energy = 0;                ///< Kaldi's --energy-floor
  bool decibels = false;                  ///< 10 · log10 instead of the natural logarithm
  double range = 80;                      ///< decibels below the greatest value at which all are cut off
};

/// Options that cannot be, and the key of the transforms to change.
class FeatureMistake : public Mistake {
 public:
  FeatureMistake(const char* key, const std::string& message, const std::string& hint)
      : Mistake(message, hint), key_(key) {}
  const char* key() const { return key_; }

 private:
  const char* key_;
};

/// Computes features. Const and used by many threads at once.
class FeatureExtractor {
 public:
  /// Throws FeatureMistake.
  explicit FeatureExtractor(FeatureOptions options);

  /// Returns the number of values of a frame.
  std::size_t width() const { return options_.coefficients ? options_.coefficients : options_.bins; }
  /// Returns the number of mel filters that lie between two frequencies of the transform, whose values are constant.
  std::size_t empty_filters() const;
  /// Returns the frames of so many samples.
  std::int64_t frames(std::int64_t samples) const;
  /// Writes (frames, width) values. There must be at least one frame, and with reflection more samples than half a
  /// transform.
  void operator()(std::span<const float> samples, float* to) const;

 private:
  std::span<const float> padded(std::span<const float> samples) const;

  FeatureOptions options_;
  FramePlan plan_;
  std::int64_t before_ = 0;     ///< reflected samples before the signal; < 0: samples of it before the first frame
  std::size_t skipped_ = 0;     ///< samples before the first frame's window
  std::vector<float> cosines_;  ///< (bins, coefficients), lifted
};

/// The masks of SpecAugment (D. Park et al., "SpecAugment", Interspeech 2019), and bounds of their draws.
struct SpecAugment {
  std::int64_t time_warp = 0;                            ///< W, frames; 0: none
  std::int64_t frequency_masks = 0, frequency_mask = 0;  ///< number, and F: the greatest width, bins
  std::int64_t time_masks = 0, time_mask = 0;            ///< number, and T: the greatest width, frames
  double time_share = 1;                                 ///< p: the greatest share of the frames of one mask
};

class Stream;

/// Warps and masks features (frames, width). Masked values become the mean of all.
void augment_spectrum(const SpecAugment& augment, Stream& random, std::span<float> features, std::size_t width);

/// The sums that give mean and variance of each of `width` values.
struct FeatureSums {
  explicit FeatureSums(std::size_t width) : sum(width), squares(width) {}
  void add(std::span<const float> features);
  void add(const FeatureSums& other);

  double frames = 0;
  std::vector<double> sum, squares;
};

/// The number that is subtracted from each value of a frame, and the factor after that.
struct FeatureScale {
  std::vector<float> mean, factor;

  /// Sets mean and 1 / standard deviation, or 1 without `variance`. Deviations below 1e-5 count as that.
  void set(const FeatureSums& sums, bool variance);
  void apply(std::span<float> features) const;
};

}  // namespace flowtrain
