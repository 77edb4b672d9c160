#include <cmath>

#include "sampling/audio/wav.h"
#include "tests/fuzz/support/fuzz_target.h"

// Decodes the input as a WAV file of plain numbers, in memory and cut from a file. libsndfile decodes all others.
FUZZ_TARGET(wav) {
  using namespace flowtrain;
  const auto path = fuzz::as_file(input, "a.wav");
  const auto file = Descriptor::file(path.c_str());
  if (!wav_layout(file)) return;
  const auto form = sound_form(input);
  Sound sound;
  decode_sound(input, sound, Silence::keep);
  fuzz::require(sound.frames() == form.frames && sound.channels == form.channels && sound.rate == form.rate,
                "a header and its samples tell the same");
  for (const float sample : sound.samples) fuzz::require(std::isfinite(sample), "samples are finite");
  std::vector<std::byte> cut;
  cut_sound(file, 0, input.size(), 0, static_cast<double>(form.frames) / form.rate, cut);
  Sound again;
  decode_sound(cut, again, Silence::keep);
  fuzz::require(again.samples == sound.samples, "a segment of all frames is the recording");
}
