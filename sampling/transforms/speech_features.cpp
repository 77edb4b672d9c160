#include "sampling/transforms/speech_features.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "sampling/audio/features.h"
#include "sampling/core/cpus.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/text_lines.h"
#include "sampling/shown.h"
#include "sampling/transforms/padded.h"
#include "sampling/transforms/recording.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// Keys that decide the values of features without augmentation and normalisation.
constexpr const char* feature_value_keys[] = {
    "as",           "rate",   "channel", "values",       "frame_ms", "hop_ms",      "n_fft", "bins",
    "f_min",        "f_max",  "mel",     "window",       "edges",    "preemphasis", "floor", "amplitude",
    "coefficients", "lifter", "energy",  "energy_floor", "range",    "pad",         "max",   "longer"};

std::vector<Key> speech_feature_keys(std::vector<Key> own) {
  const auto choice = [](const char* name, const char* fallback, const char* help, std::vector<std::string> choices) {
    return Key{.name = name,
               .kind = Kind::text,
               .fallback = std::string(fallback),
               .help = help,
               .choices = std::move(choices)};
  };
  std::vector<Key> keys{
      choice("values", "kaldi", "implementation whose values are computed, and whose defaults other keys have",
             {"kaldi", "torchaudio", "whisper"}),
      {"frame_ms", Kind::real, 25.0, "length of a frame in milliseconds", 0.1, 10000},
      {"hop_ms", Kind::real, 10.0, "time from one frame to the next in milliseconds", 0.1, 10000},
      {"n_fft", Kind::integer, std::int64_t{0},
       "samples of the Fourier transform; 0: the next power of two for kaldi, else those of a frame", 0, 1 << 20},
      {"f_min", Kind::real, -1.0, "frequency in Hz where the filters begin; -1: 20 for kaldi, else 0", -1, 1e6},
      {"f_max", Kind::real, 0.0, "frequency in Hz where the filters end; 0 or less: so far below half the rate", -1e6,
       1e6},
      choice("mel", "", "mel scale: htk, or slaney with filters of equal area; empty: slaney for whisper, else htk",
             {"", "htk", "slaney"}),
      choice("window", "", "window of a frame; empty: povey for kaldi, else hann",
             {"", "povey", "hann", "hamming", "blackman", "rectangular"}),
      choice(
          "edges", "",
          "frames at both ends: snip (only whole frames) or reflect (the signal is reflected); empty: snip for kaldi, "
          "else reflect",
          {"", "snip", "reflect"}),
      {"preemphasis", Kind::real, -1.0, "share of the sample before that is subtracted; -1: 0.97 for kaldi, else 0", -1,
       1},
      {"dither", Kind::real, 0.0, "standard deviation of noise that training adds, in units of the scaled samples", 0,
       1e6},
      {"floor", Kind::real, 0.0,
       "bound of mel energies, or what torchaudio adds to them; 0: 1.19e-7 for kaldi, 1e-6 for torchaudio, 1e-10 for "
       "decibels and whisper",
       0, 1e30},
      {"amplitude", Kind::real, 0.0, "value of full scale; 0: 32768 for kaldi, else 1", 0, 1e9},
      choice("normalise", "none",
             "subtract the mean and divide by the standard deviation of each value: of the utterance, or of the set of "
             "all training data",
             {"none", "utterance", "set"}),
      {"variance", Kind::boolean, true, "divide by the standard deviation; false: only the mean is subtracted"},
      {.name = "statistics",
       .kind = Kind::text,
       .fallback = std::string(),
       .help = "file of the mean and standard deviation of the set; training makes it if it is missing",
       .is_path = true},
      {"frequency_masks", Kind::integer, std::int64_t{0}, "frequency masks of SpecAugment, in training", 0, 1000},
      {"frequency_mask", Kind::integer, std::int64_t{27}, "greatest width of such a mask, in bins", 0, 4096},
      {"time_masks", Kind::integer, std::int64_t{0}, "time masks of SpecAugment, in training", 0, 1000},
      {"time_mask", Kind::integer, std::int64_t{100}, "greatest width of such a mask, in frames", 0, 1e9},
      {"time_share", Kind::real, 1.0, "greatest share of an utterance's frames that such a mask takes", 0, 1},
      {"time_warp", Kind::integer, std::int64_t{0}, "greatest shift of SpecAugment's time warp, in frames; 0: none", 0,
       1e9}};
  keys.insert(keys.begin() + 1, std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return recording_keys(std::move(keys));
}

/// Returns the samples of so many milliseconds: as Kaldi computes them, cut off to a whole number, or the nearest one.
std::size_t samples_in(double milliseconds, double rate, bool is_kaldi) {
  if (!is_kaldi) return static_cast<std::size_t>(std::llround(milliseconds * rate / 1000));
  return static_cast<std::size_t>(rate * 0.001 * static_cast<float>(milliseconds));
}

FeatureOptions feature_options(const Settings& settings) {
  FeatureOptions o;
  const auto& values = settings.text("values");
  const bool is_kaldi = values == "kaldi", is_cepstrum = settings.has("coefficients");
  o.values = is_kaldi                 ? FeatureValues::kaldi
             : values == "torchaudio" ? FeatureValues::torchaudio
                                      : FeatureValues::whisper;
  if (is_cepstrum && o.values == FeatureValues::whisper)
    throw settings.error("values", "Whisper has no cepstra", ExitCode::usage, "choose kaldi or torchaudio");
  const auto rate = static_cast<double>(settings.integer("rate"));
  o.rate = static_cast<std::uint32_t>(rate);
  o.length = samples_in(settings.real("frame_ms"), rate, is_kaldi);
  o.hop = samples_in(settings.real("hop_ms"), rate, is_kaldi);
  o.size = static_cast<std::size_t>(settings.integer("n_fft"));
  if (o.size == 0) o.size = is_kaldi ? std::bit_ceil(o.length) : o.length;
  o.bins = static_cast<std::size_t>(settings.integer("bins"));
  o.low = settings.real("f_min") < 0 ? (is_kaldi ? 20 : 0) : settings.real("f_min");
  o.high = settings.real("f_max") + (settings.real("f_max") > 0 ? 0 : rate / 2);
  o.slaney = settings.text("mel") == "slaney" || (settings.text("mel").empty() && values == "whisper");
  o.window = settings.text("window").empty() ? (is_kaldi ? "povey" : "hann") : settings.text("window");
  o.snips = settings.text("edges").empty() ? is_kaldi : settings.text("edges") == "snip";
  o.preemphasis = settings.real("preemphasis") < 0 ? (is_kaldi ? 0.97 : 0) : settings.real("preemphasis");
  o.amplitude = settings.real("amplitude") > 0 ? settings.real("amplitude") : is_kaldi ? 32768 : 1;
  o.decibels = is_cepstrum && values == "torchaudio";
  o.least = settings.real("floor") > 0               ? std::max(settings.real("floor"), 1e-30)
            : is_kaldi                               ? 1.1920928955078125e-07
            : values == "torchaudio" && !is_cepstrum ? 1e-6
                                                     : 1e-10;
  if (!is_cepstrum) return o;
  o.coefficients = static_cast<std::size_t>(settings.integer("coefficients"));
  o.lifter = settings.real("lifter") < 0 ? (is_kaldi ? 22 : 0) : settings.real("lifter");
  o.energy = settings.boolean("energy");
  o.least_energy = settings.real("energy_floor");
  o.range = settings.real("range");
  return o;
}

FeatureExtractor extractor_of(const Settings& settings) {
  try {
    return FeatureExtractor(feature_options(settings));
  } catch (const FeatureMistake& mistake) {
    throw settings.error(mistake.key(), mistake.what(), ExitCode::usage, mistake.hint());
  }
}

/// The file of the mean and deviation of a set's features: a line of the keys and the data that they were made from, as
/// hashes, then two numbers a line.
class SetStatistics {
 public:
  explicit SetStatistics(const Settings& settings) : settings_(settings), path_(settings.text("statistics")) {
    if (path_.empty())
      throw settings.error("statistics", "is missing, but normalise = \"set\" keeps its numbers there", ExitCode::usage,
                           "name a file, which training makes");
    std::uint64_t hash = 0;
    for (const char* key : feature_value_keys)
      if (settings.has(key)) hash = fingerprint_of(concat(key, '=', to_toml(settings.value(key))), hash);
    first_words_ = concat("flowtrain features ", hash_hex(hash), ' ');
  }

  bool is_there() const {
    std::error_code failed;
    return fs::exists(path_, failed);
  }

  /// Reads the file. Warns if it was made from other data than `training`, which is null to validate.
  FeatureScale read(std::size_t width, const Dataset* training) const {
    const auto lines = read_text_lines(path_);
    if (lines.empty() || !lines[0].starts_with(first_words_))
      throw settings_.error("statistics", concat(path_, " is no file of statistics, or is of features with other keys"),
                            ExitCode::data, "remove it, and training makes it anew, or name another file");
    if (training && lines[0].substr(first_words_.size()) != hash_hex(training->fingerprint()))
      warn(concat(settings_.place_of("statistics"), path_,
                  " has the statistics of other training data, which are used; remove it to compute those of these "
                  "data"));
    FeatureScale scale;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto blank = lines[i].find(' ');
      const auto mean = parse_number<float>(std::string_view(lines[i]).substr(0, blank));
      const auto deviation =
          parse_number<float>(std::string_view(lines[i]).substr(std::min(blank, lines[i].size() - 1) + 1));
      if (!mean || !deviation || !std::isfinite(*mean) || !(*deviation > 0)) break;
      scale.mean.push_back(*mean);
      scale.factor.push_back(settings_.boolean("variance") ? 1 / *deviation : 1.0f);
    }
    if (scale.mean.size() != width || lines.size() != width + 1)
      throw settings_.error("statistics",
                            concat(path_, " is damaged: it needs two numbers in each of ", width, " lines"),
                            ExitCode::data, "remove it, and training makes it anew");
    return scale;
  }

  void write(const FeatureSums& sums, const Dataset& training) const {
    FeatureScale scale;
    scale.set(sums, true);
    std::string text = concat(first_words_, hash_hex(training.fingerprint()), '\n');
    for (std::size_t b = 0; b < scale.mean.size(); ++b) {
      char line[64];
      const auto mean = std::to_chars(line, line + 30, scale.mean[b]);
      *mean.ptr = ' ';
      const auto end = std::to_chars(mean.ptr + 1, line + 62, 1 / scale.factor[b]);
      *end.ptr = '\n';
      text.append(line, end.ptr + 1);
    }
    std::error_code failed;  // writing then fails, too
    if (const auto folder = fs::path(path_).parent_path(); !folder.empty()) fs::create_directories(folder, failed);
    if (!write_cache_file(path_, path_ + ".", {std::as_bytes(std::span(text))},
                          [](int file) { return fchmod(file, 0644) == 0; }))
      throw settings_.error("statistics", concat("cannot write ", path_), ExitCode::data,
                            "name a file that can be made");
  }

 private:
  const Settings& settings_;
  std::string path_, first_words_;
};

class SpeechFeatures final : public Transform {
 public:
  SpeechFeatures(const Settings& settings, const TransformInput& input)
      : recordings_(settings, input.from, input.training),
        extractor_(extractor_of(settings)),
        width_(extractor_.width()),
        utterance_(settings.text("normalise") == "utterance"),
        variance_(settings.boolean("variance")) {
    field_ = {input.name, DType::f32, {extractor_.frames(recordings_.most_frames()), std::int64_t(width_)}};
    if (field_.shape[0] < 1)
      throw settings.error("max", "is shorter than a frame", ExitCode::usage, "raise it, or make frames shorter");
    check_needed(settings, settings.text("normalise") == "set", "normalise = \"set\"", {"statistics"});
    check_needed(settings, settings.integer("time_masks") > 0, "time_masks", {"time_mask", "time_share"});
    check_needed(settings, settings.integer("frequency_masks") > 0, "frequency_masks", {"frequency_mask"});
    if (settings.has("energy")) check_needed(settings, settings.boolean("energy"), "energy", {"energy_floor"});
    field_.free_axes = 1;
    const FeatureOptions options = feature_options(settings);
    field_.per_second = static_cast<double>(options.rate) / static_cast<double>(options.hop);
    field_.show = [](const Field& field, std::span<const std::byte> value) {
      std::vector<float> features(value.size() / sizeof(float));
      std::memcpy(features.data(), value.data(), value.size());
      return Shown{concat(field.shape[0], " frames of ", field.shape[1]),
                   spectrogram(features, field.shape[0], field.shape[1])};
    };
    if (const auto empty = extractor_.empty_filters(); empty > 0 && input.training)
      warn(concat(settings.place_of("bins"), empty, " of ", settings.integer("bins"),
                  " mel filters hold no frequency of the Fourier transform, so their values never change; make fewer "
                  "bins, or raise n_fft"));
    if (input.training) {
      dither_ = static_cast<float>(settings.real("dither") / options.amplitude);
      augment_ = {.time_warp = settings.integer("time_warp"),
                  .frequency_masks = settings.integer("frequency_masks"),
                  .frequency_mask = settings.integer("frequency_mask"),
                  .time_masks = settings.integer("time_masks"),
                  .time_mask = settings.integer("time_mask"),
                  .time_share = settings.real("time_share")};
    }
    if (settings.text("normalise") != "set") return;
    const SetStatistics kept(settings);
    if (!kept.is_there()) {
      if (!input.training)
        throw settings.error("statistics", concat("there is no file ", settings.text("statistics")), ExitCode::data,
                             "train first, which makes it from the training data, or name the one of the training");
      kept.write(sums_of_set(Recordings(settings, input.from, false), input.dataset, settings), input.dataset);
    }
    set_ = kept.read(width_, input.training ? &input.dataset : nullptr);
  }

  std::vector<Field> fields() const override { return {field_, length_field_of(field_)}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const auto samples = recordings_.frames(record).greatest;
    extents[0] = checked(extractor_.frames(samples), samples);
  }

  void make(const Record& record, Stream random, Row to) const override {
    const auto samples = recordings_(record, random);
    if (dither_ > 0)
      for (float& each : samples) each += dither_ * static_cast<float>(random.normal());
    const auto count = std::int64_t(samples.size());
    const auto frames = checked(extractor_.frames(count), count), room = to.extents()[0];
    check_room(frames, room);
    thread_local std::vector<float> longer;  // used if the row is too short
    auto* place = reinterpret_cast<float*>(to[0]);
    if (frames > room) longer.resize(static_cast<std::size_t>(frames) * width_), place = longer.data();
    extractor_(samples, place);
    const std::span<float> features(place, static_cast<std::size_t>(frames) * width_);
    if (utterance_) {
      thread_local FeatureSums sums(0);
      thread_local FeatureScale scale;
      sums.sum.assign(width_, 0), sums.squares.assign(width_, 0), sums.frames = 0;
      sums.add(features);
      scale.set(sums, variance_);
      scale.apply(features);
    } else if (!set_.mean.empty()) {
      set_.apply(features);
    }
    augment_spectrum(augment_, random, features, width_);
    const auto kept = std::min(frames, room);
    if (frames > room) std::memcpy(to[0], place, static_cast<std::size_t>(room) * width_ * sizeof(float));
    fill_elements(DType::f32, 0, to[0] + static_cast<std::size_t>(kept) * width_ * sizeof(float),
                  static_cast<std::size_t>(room - kept) * width_);
    put_length(kept, to[1]);
  }

 private:
  static std::int64_t checked(std::int64_t frames, std::int64_t samples) {
    if (frames < 1) throw SampleError(concat("it has ", samples, " samples, fewer than one frame takes"));
    return frames;
  }

  /// Sums up the features of the set's records: of all, or of 20,000 that are spread evenly. The order of the sums does
  /// not depend on the number of threads.
  FeatureSums sums_of_set(const Recordings& recordings, const Dataset& dataset, const Settings& settings) const {
    constexpr std::uint64_t most_records = 20000, block_records = 64;
    const auto records = std::min(dataset.size(), most_records);
    const auto blocks = (records + block_records - 1) / block_records;
    std::vector<FeatureSums> sums(blocks, FeatureSums(width_));
    in_parallel(blocks, usable_cores(), [&](std::size_t block) {
      ReadBuffer buffer;
      std::vector<float> features;
      Stream unused(0, Purpose::sample, 0);
      for (auto i = block * block_records; i < std::min(records, (block + 1) * block_records); ++i) {
        try {
          const auto samples = recordings(dataset.read(i * dataset.size() / records, buffer), unused);
          const auto frames = extractor_.frames(std::int64_t(samples.size()));
          if (frames < 1) continue;
          features.resize(static_cast<std::size_t>(frames) * width_);
          extractor_(samples, features.data());
          sums[block].add(features);
        } catch (const SampleError&) {  // the loader names damaged records
        }
      }
    });
    FeatureSums all(width_);
    for (const auto& each : sums) all.add(each);
    if (all.frames < 1)
      throw settings.error("statistics", "no record of the training data has a frame", ExitCode::data,
                           "correct the data set");
    return all;
  }

  Recordings recordings_;
  FeatureExtractor extractor_;
  std::size_t width_;
  bool utterance_, variance_;
  float dither_ = 0;
  SpecAugment augment_;
  FeatureScale set_;
  Field field_;
};

}  // namespace

TransformEntry speech_features_entry(const char* name, const char* help, std::vector<Key> own_keys) {
  return {.name = name,
          .help = help,
          .keys = speech_feature_keys(std::move(own_keys)),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<SpeechFeatures>(settings, input);
          }};
}

Image spectrogram(std::span<const float> features, std::int64_t frames, std::int64_t width) {
  std::vector<float> turned(features.size());
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t b = 0; b < width; ++b)
      turned[static_cast<std::size_t>((width - 1 - b) * frames + t)] =
          features[static_cast<std::size_t>(t * width + b)];
  return heat_map(turned, width, frames);
}

}  // namespace flowtrain
