#include "sampling/transforms/recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "sampling/audio/resampler.h"
#include "sampling/audio/sound.h"
#include "sampling/core/text.h"
#include "sampling/draw_notes.h"

namespace flowtrain {
namespace {

using Reals = std::vector<double>;

/// The greatest length of an impulse response. A recording is convolved with the whole of it.
constexpr double most_room_seconds = 10;

/// Returns the two bounds of a draw, or nothing if the key is empty.
Reals bounds_of_draw(const Settings& settings, const char* key) {
  auto bounds = settings.reals(key);
  if (!bounds.empty() && (bounds.size() != 2 || bounds[0] > bounds[1]))
    throw settings.error(key, concat("has the numbers ", join(bounds), ", but takes the least and the greatest value"),
                         ExitCode::usage, "write two numbers, the smaller one first");
  return bounds;
}

}  // namespace

std::vector<Key> recording_keys(std::vector<Key> more) {
  std::vector<Key> keys{
      {"rate", Kind::integer, std::int64_t{16000}, "frames a second to which recordings are resampled", 100, 1e6},
      {"channel", Kind::integer, std::int64_t{-1}, "channel that is taken, from 0; -1: the mean of all", -1, 1023},
      {"max", Kind::real, 30.0, "greatest length in seconds; each batch is as long as its longest", 0.0001, 86400},
      {.name = "longer",
       .kind = Kind::text,
       .fallback = std::string("cut"),
       .help = "fate of longer recordings: cut (the end is cut off), crop (a piece is drawn, in validation "
               "that from the middle) or error (the record is damaged)",
       .choices = {"cut", "crop", "error"}},
      {"pad", Kind::real, 0.0, "length in seconds up to which silence follows shorter recordings", 0, 86400},
      {"speed", Kind::reals, Reals{}, "speeds of which training draws one, such as [0.9, 1.0, 1.1]", 0.25, 4},
      {"gain", Kind::reals, Reals{}, "bounds of the gain in decibels that training draws", -120, 120},
      {.name = "noise",
       .kind = Kind::text,
       .fallback = std::string(),
       .help = "folder or .tar of recordings that training adds as noise; empty: none",
       .is_path = true},
      {"noise_snr", Kind::reals, Reals{5, 20}, "bounds of the ratio of signal to noise in decibels", -100, 200},
      {"noise_probability", Kind::real, 0.5, "share of the recordings that noise is added to", 0, 1},
      {.name = "reverb",
       .kind = Kind::text,
       .fallback = std::string(),
       .help = "folder or .tar of impulse responses, of up to 10 seconds, that training convolves recordings with; "
               "empty: none",
       .is_path = true},
      {"reverb_probability", Kind::real, 0.5, "share of the recordings that are reverberated", 0, 1}};
  keys.insert(keys.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return keys;
}

void check_needed(const Settings& settings, bool is_there, const char* needed,
                  std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (!is_there && settings.value(key) != find_key(settings.keys(), key)->fallback)
      throw settings.error(key, concat("has no effect without ", needed), ExitCode::usage, "leave it out");
}

Recordings::Recordings(const Settings& settings, const PartForm& from, bool training)
    : from_(from),
      training_(training),
      rate_(static_cast<std::uint32_t>(settings.integer("rate"))),
      channels_(settings.has("channels") ? static_cast<std::uint32_t>(settings.integer("channels")) : 1),
      channel_(settings.integer("channel")),
      most_(std::max<std::int64_t>(1, std::llround(settings.real("max") * rate_))),
      padded_(std::llround(settings.real("pad") * rate_)),
      longer_(settings.text("longer") == "cut"    ? Longer::cut
              : settings.text("longer") == "crop" ? Longer::crop
                                                  : Longer::error),
      cut_(cut_warning(settings, concat("recordings of more than ", settings.real("max"), " seconds"),
                       "raise it, or choose by longer = \"cut\", \"crop\" or \"error\"", "longer")),
      noise_probability_(settings.real("noise_probability")),
      reverb_probability_(settings.real("reverb_probability")) {
  if (from.encoding != Encoding::audio && from.encoding != Encoding::bytes)
    throw wrong_part(settings, from, "recordings");
  if (padded_ > most_)
    throw settings.error("pad", "silence makes recordings longer than max", ExitCode::usage, "raise max, or lower pad");
  const Reals gain = bounds_of_draw(settings, "gain"), snr = bounds_of_draw(settings, "noise_snr");
  for (const char* key : {"noise", "reverb"})
    if (channels_ > 1 && !settings.text(key).empty())
      throw settings.error(key, "is for one channel, but 'channels' keeps several", ExitCode::usage,
                           "leave one of the two out");
  check_needed(settings, channels_ == 1, "one channel", {"channel"});
  check_needed(settings, !settings.text("noise").empty(), "noise", {"noise_snr", "noise_probability"});
  check_needed(settings, !settings.text("reverb").empty(), "reverb", {"reverb_probability"});
  if (snr.empty() && !settings.text("noise").empty())
    throw settings.error("noise_snr", "is empty, but there is noise", ExitCode::usage, "write two numbers: [5, 20]");
  if (!training) return;
  if (!settings.reals("speed").empty()) speeds_ = settings.reals("speed");
  gain_ = gain, noise_snr_ = snr;
  if (!settings.text("noise").empty()) noises_.emplace(settings, "noise", rate_);
  if (!settings.text("reverb").empty()) rooms_.emplace(settings, "reverb", rate_, most_room_seconds);
}

void Recordings::check_longest(std::int64_t frames) const {
  if (frames > most_ && longer_ == Longer::error)
    throw SampleError(concat("it has ", double(frames) / rate_, " seconds, more than max"));
}

Recordings::Range Recordings::frames(const Record& record) const {
  const Part& part = part_of(record, from_);
  SoundForm form;
  if (part.shape.size() == 3)
    form = {static_cast<std::uint64_t>(part.shape[0]), static_cast<std::uint32_t>(part.shape[1]),
            static_cast<std::uint32_t>(part.shape[2])};
  else
    form = sound_form(part.bytes);
  if (form.rate == 0) throw SampleError("it has no recording, or an empty file");
  const auto at_speed = [&](double speed) {
    return std::max(resampled_frames(form.frames, form.rate * speed, rate_), padded_);
  };
  const auto [slowest, fastest] = std::ranges::minmax(speeds_);
  const auto least = at_speed(fastest);
  check_longest(least);
  return {std::min(least, most_), std::min(at_speed(slowest), most_)};
}

std::span<float> Recordings::operator()(const Record& record, Stream& random) const {
  thread_local Sound sound;
  const auto bytes = part_of(record, from_).bytes;
  if (bytes.empty()) throw SampleError("it has no recording, or an empty file");
  decode_sound(bytes, sound);
  auto& samples = sound.samples;
  if (channels_ > 1) {
    if (sound.channels != channels_)
      throw SampleError(concat("it has ", sound.channels, " channels, but 'channels' is ", channels_));
  } else {
    if (channel_ >= std::int64_t{sound.channels})
      throw SampleError(concat("it has ", sound.channels, " channels, but 'channel' is ", channel_));
    mix_down(samples, sound.channels, channel_);
    if (sound.channels > 1 && std::ranges::all_of(samples, [&](float x) { return x == samples[0]; }))
      throw SampleError(channel_ < 0 ? concat("the mean of its ", sound.channels, " channels is silent")
                                     : concat("its channel ", channel_, " is silent"));
  }
  const double speed = speeds_.size() == 1 ? speeds_[0] : speeds_[random.below(speeds_.size())];
  resample(samples, channels_, sound.rate * speed, rate_);
  if (const auto padded = static_cast<std::size_t>(padded_) * channels_; samples.size() < padded)
    samples.resize(padded, 0.0f);
  cut(samples, random);
  if (!training_) return samples;
  if (speed != 1) DrawNotes::add("speed", [&] { return std::vector<double>{speed}; });
  if (rooms_ && random.uniform() < reverb_probability_) reverberate(samples, rooms_->draw(random));
  if (noises_ && random.uniform() < noise_probability_) {
    const double decibels = random.uniform(noise_snr_[0], noise_snr_[1]);
    add_noise(samples, noises_->draw(random), decibels, random);
    DrawNotes::add("noise_snr", [&] { return std::vector<double>{decibels}; });
  }
  if (!gain_.empty()) {
    const double decibels = random.uniform(gain_[0], gain_[1]);
    const auto factor = static_cast<float>(std::pow(10.0, decibels / 20));
    for (float& each : samples) each *= factor;
    DrawNotes::add("gain", [&] { return std::vector<double>{decibels}; });
  }
  return samples;
}

void Recordings::cut(std::vector<float>& samples, Stream& random) const {
  const std::size_t frames = samples.size() / channels_, most = static_cast<std::size_t>(most_);
  if (frames <= most) return;
  check_longest(static_cast<std::int64_t>(frames));
  std::size_t first = 0;
  if (longer_ == Longer::cut) cut_.add();
  if (longer_ == Longer::crop) first = training_ ? random.below(frames - most + 1) : (frames - most) / 2;
  const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first * channels_);
  std::copy_n(begin, most * channels_, samples.begin());
  samples.resize(most * channels_);
}

void put_length(std::int64_t length, std::byte* to) { std::memcpy(to, &length, sizeof length); }

}  // namespace flowtrain
