#include "sampling/audio/sound.h"

#include <cmath>

#include "sampling/io/descriptor.h"
#include "tests/fuzz/support/fuzz_target.h"

// Decodes the input as a recording of any kind, and cuts its first half from a file.
FUZZ_TARGET(sound) {
  using namespace flowtrain;
  const auto form = sound_form(input);
  fuzz::require(form.frames > 0 && form.channels > 0 && form.rate > 0, "a recording has a form");
  constexpr std::uint64_t most_samples = 1 << 22;  // A header may well promise what does not fit into memory.
  if (form.frames > most_samples / form.channels) return;
  Sound sound;
  decode_sound(input, sound, Silence::keep);
  fuzz::require(sound.frames() == form.frames && sound.channels == form.channels && sound.rate == form.rate,
                "a header and its samples tell the same");
  for (const float sample : sound.samples) fuzz::require(std::isfinite(sample), "samples are finite");
  const auto path = fuzz::as_file(input, "a.sound");
  const auto file = Descriptor::file(path.c_str());
  const double half_s = static_cast<double>(form.frames) / 2 / form.rate;
  const auto range = frames_between(form, 0, half_s);
  if (range.frames == 0) return;
  std::vector<std::byte> cut;
  cut_sound(file, 0, input.size(), 0, half_s, cut);
  Sound half;
  decode_sound(cut, half, Silence::keep);
  fuzz::require(half.frames() == range.frames && half.channels == sound.channels, "a segment has its frames");
}
