#include "sampling/audio/sound_library.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>

#include "sampling/audio/fourier.h"
#include "sampling/audio/resampler.h"
#include "sampling/audio/sound.h"
#include "sampling/core/cpus.h"
#include "sampling/core/error.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/io/files.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t most_library_samples = 1ull << 30;

double mean_power(std::span<const float> signal) {
  double sum = 0;
  for (const float each : signal) sum += double{each} * each;
  return signal.empty() ? 0 : sum / double(signal.size());
}

void scale_signal(std::span<float> signal, float factor) {
  for (float& each : signal) each *= factor;
}

}  // namespace

SoundLibrary::SoundLibrary(const Settings& settings, const char* key, std::uint32_t rate, double most_seconds) try {
  const std::string& path = settings.text(key);
  std::error_code ignored;
  const bool is_recording = is_sound(path) && std::filesystem::is_regular_file(path, ignored);
  if (is_recording || !std::filesystem::exists(path, ignored))
    throw settings.error(key, concat(path, is_recording ? " is a recording itself" : " does not exist"), ExitCode::data,
                         concat("name a folder or a .tar of ", sound_endings, " files"));
  const Files files(path);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (is_sound(files.name(i))) found.push_back(i);
  if (found.empty())
    throw settings.error(key, concat("no recordings in ", settings.text(key)), ExitCode::data,
                         concat("name a folder of ", sound_endings, " files"));
  sounds_.resize(found.size());
  std::atomic<std::uint64_t> samples = 0;
  in_parallel(found.size(), usable_cores(), [&](std::size_t i) {
    std::vector<std::byte> bytes;
    Sound sound;
    try {
      files.read(found[i], bytes);
      const SoundForm form = sound_form(bytes);
      const double seconds = static_cast<double>(form.frames) / form.rate;
      if (seconds > most_seconds)
        throw settings.error(
            key, concat(files.describe(found[i]), " has ", seconds, " seconds, but may have ", most_seconds),
            ExitCode::data, "cut it, or leave it out");
      if ((samples += static_cast<std::uint64_t>(resampled_frames(form.frames, form.rate, rate))) >
          most_library_samples)
        throw settings.error(key, "the recordings take more than 4 GiB of memory", ExitCode::data,
                             "name a folder with fewer of them");
      decode_sound(bytes, sound);
      mix_down(sound.samples, sound.channels, -1);
      if (std::ranges::all_of(sound.samples, [](float sample) { return sample == 0; }))
        throw SampleError(concat("the mean of its ", sound.channels, " channels is silent"));
      resample(sound.samples, 1, sound.rate, rate);
    } catch (const SampleError& error) {
      throw settings.error(key, concat(files.describe(found[i]), ": ", error.what()), ExitCode::data,
                           "repair or remove this file");
    }
    sounds_[i].assign(sound.samples.begin(), sound.samples.end());
  });
} catch (const std::system_error& error) {
  throw settings.error(key, error.what(), ExitCode::data);
}

std::span<const float> SoundLibrary::draw(Stream& random) const { return sounds_[random.below(sounds_.size())]; }

void mix_down(std::vector<float>& samples, std::uint32_t channels, std::int64_t channel) {
  if (channels == 1) return;
  const std::size_t frames = samples.size() / channels;
  for (std::size_t i = 0; i < frames; ++i) {
    const float* const frame = samples.data() + i * channels;
    if (channel >= 0) {
      samples[i] = frame[channel];
      continue;
    }
    float sum = 0;
    for (std::uint32_t c = 0; c < channels; ++c) sum += frame[c];
    samples[i] = sum / static_cast<float>(channels);
  }
  samples.resize(frames);
}

void add_noise(std::span<float> signal, std::span<const float> noise, double decibels, Stream& random) {
  if (signal.empty() || noise.empty()) return;
  const std::size_t first =
      noise.size() > signal.size() ? random.below(noise.size() - signal.size() + 1) : random.below(noise.size());
  double power = 0;
  for (std::size_t i = 0; i < signal.size(); ++i) power += std::pow(double{noise[(first + i) % noise.size()]}, 2);
  if (power <= 0) return;
  const double ratio = mean_power(signal) * double(signal.size()) / power;
  const auto factor = static_cast<float>(std::sqrt(ratio * std::pow(10.0, -decibels / 10)));
  for (std::size_t i = 0; i < signal.size(); ++i) signal[i] += factor * noise[(first + i) % noise.size()];
}

void reverberate(std::span<float> signal, std::span<const float> response) {
  const double before = mean_power(signal);
  const auto peak = std::ranges::max_element(response, {}, [](float each) { return std::abs(each); });
  convolve(signal, response.subspan(static_cast<std::size_t>(peak - response.begin())));
  const double after = mean_power(signal);
  if (after > 0) scale_signal(signal, static_cast<float>(std::sqrt(before / after)));
}

}  // namespace flowtrain
