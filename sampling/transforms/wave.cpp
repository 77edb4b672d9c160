// The transform `wave`: the samples of a recording.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "sampling/audio/features.h"
#include "sampling/audio/sound.h"
#include "sampling/core/text.h"
#include "sampling/shown.h"
#include "sampling/transforms/padded.h"
#include "sampling/transforms/recording.h"
#include "sampling/transforms/speech_features.h"

namespace flowtrain {
namespace {

/// Returns the view of a wave: its length and peak, the spectrogram of its first channel, and a WAV file.
ShowValue show_wave(std::uint32_t channels, std::uint32_t rate) {
  return [channels, rate](const Field&, std::span<const std::byte> value) {
    Sound sound{std::vector<float>(value.size() / sizeof(float)), channels, rate};
    std::memcpy(sound.samples.data(), value.data(), value.size());
    float peak = 0;
    for (const float each : sound.samples) peak = std::max(peak, std::abs(each));
    Shown shown{concat(double(sound.frames()) / rate, " s at ", rate, " Hz, peak ", peak)};
    encode_wav(sound, shown.sound);
    mix_down(sound.samples, channels, 0);
    FeatureOptions options{.values = FeatureValues::torchaudio, .rate = rate};
    options.length = std::max<std::size_t>(2, rate / 40), options.hop = std::max<std::size_t>(1, rate / 100);
    options.size = 2;
    while (options.size < options.length) options.size *= 2;
    options.low = 0, options.high = rate / 2.0, options.window = "hann", options.preemphasis = 0;
    options.amplitude = 1;
    const FeatureExtractor extractor(options);
    const auto frames = extractor.frames(static_cast<std::int64_t>(sound.samples.size()));
    if (frames < 1) return shown;
    std::vector<float> features(static_cast<std::size_t>(frames) * extractor.width());
    extractor(sound.samples, features.data());
    shown.picture = spectrogram(features, frames, static_cast<std::int64_t>(extractor.width()));
    return shown;
  };
}

class WaveTransform final : public Transform {
 public:
  WaveTransform(const Settings& settings, const TransformInput& input)
      : recordings_(settings, input.from, input.training), field_{input.name, DType::f32, {recordings_.most_frames()}} {
    if (recordings_.channels() > 1) field_.shape.push_back(recordings_.channels());
    field_.free_axes = 1;
    field_.per_second = recordings_.rate();
    field_.show = show_wave(recordings_.channels(), recordings_.rate());
  }

  std::vector<Field> fields() const override { return {field_, length_field_of(field_)}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    extents[0] = recordings_.frames(record).greatest;
  }

  void make(const Record& record, Stream random, Row to) const override {
    const auto samples = recordings_(record, random);
    const std::array shape{static_cast<std::int64_t>(samples.size() / recordings_.channels()), field_.shape.back()};
    copy_padded(field_, std::as_bytes(samples).data(), std::span(shape).first(field_.shape.size()), to[0],
                to.extents());
    put_length(std::min(shape[0], to.extents()[0]), to[1]);
  }

 private:
  Recordings recordings_;
  Field field_;
};

}  // namespace

TransformEntry wave_transform_entry() {
  return {.name = "wave",
          .help =
              "the samples of a recording, f32 (T) or, with channels, f32 (T, channels); full scale is 1. The field "
              "NAME_length has the length",
          .keys = recording_keys({{"channels", Kind::integer, std::int64_t{1},
                                   "number of channels that are kept; 1: they are mixed, or one is taken", 1, 1024}}),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<WaveTransform>(settings, input);
          }};
}

}  // namespace flowtrain
