#pragma once
// Recordings for tests: tones, and WAV files of any form.

#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <string>

#include "sampling/audio/sound.h"

namespace flowtrain {

/// A tone whose samples are multiples of 2^-15.
inline Sound tone(std::uint64_t frames, std::uint32_t channels = 1, std::uint32_t rate = 16000, double hertz = 440) {
  Sound sound{.channels = channels, .rate = rate};
  for (std::uint64_t i = 0; i < frames * channels; ++i) {
    const std::uint64_t whole = i / channels;
    const auto frame = static_cast<double>(whole), channel = static_cast<double>(i % channels);
    const double value = 0.5 * std::sin(6.283185307179586 * hertz * (1 + channel) * frame / rate) + 0.01;
    sound.samples.push_back(static_cast<float>(std::round(value * 32768) / 32768));
  }
  return sound;
}

inline std::string bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string wav_of(const Sound& sound) {
  std::vector<std::byte> bytes;
  encode_wav(sound, bytes);
  return bytes_of(bytes);
}

inline std::string flac_of(const Sound& sound) {
  std::vector<std::byte> bytes;
  encode_flac(sound, bytes);
  return bytes_of(bytes);
}

/// A WAV file with this format tag and number of bits, whose header tells of `told` bytes of samples.
inline std::string raw_wav(int tag, int bits, int channels, const std::string& samples, std::uint32_t told,
                           std::uint32_t rate = 16000) {
  const auto number = [](std::uint32_t value, std::size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  const auto frame = static_cast<std::uint32_t>(bits / 8 * channels);
  return "RIFF" + number(static_cast<std::uint32_t>(36 + samples.size()), 4) + "WAVEfmt " + number(16, 4) +
         number(static_cast<std::uint32_t>(tag), 2) + number(static_cast<std::uint32_t>(channels), 2) +
         number(rate, 4) + number(rate * frame, 4) + number(frame, 2) + number(static_cast<std::uint32_t>(bits), 2) +
         "data" + number(told, 4) + samples;
}

inline bool has_libsndfile() { return dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

}  // namespace flowtrain
