// The transforms wave, logmel and mfcc beside their references, and their augmentations.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "sampling/audio/features.h"
#include "sampling/audio/resampler.h"
#include "sampling/audio/wav.h"
#include "sampling/core/registry.h"
#include "sampling/core/warning.h"
#include "sampling/planned_row.h"
#include "sampling/shown.h"
#include "sampling/transform.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/python.h"
#include "tests/support/settings_helper.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::test {
extern thread_local long allocations;  // classify_test.cpp counts them
}  // namespace flowtrain::test

namespace flowtrain::speech_features_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;
using Reals = std::vector<double>;

const PartForm audio_form{"audio", Encoding::audio};

Value words(const char* value) { return std::string(value); }

/// A WAV file of floats.
std::vector<std::byte> wav_of(std::span<const float> samples, std::uint32_t channels = 1, std::uint32_t rate = 16000) {
  std::vector<std::byte> file;
  const auto at = begin_wav({{samples.size() / channels, channels, rate}, true, sizeof(float), 0}, file);
  std::ranges::copy(std::as_bytes(samples), file.begin() + static_cast<std::ptrdiff_t>(at));
  return file;
}

/// A record of one recording, or its outline.
struct AudioRecord {
  explicit AudioRecord(std::span<const std::byte> file) {
    part = {.name = "audio", .encoding = Encoding::audio, .bytes = file};
    record.parts = {&part, 1};
  }
  AudioRecord(std::int64_t frames, std::int64_t channels, std::int64_t rate) : shape{frames, channels, rate} {
    part = {.name = "audio", .encoding = Encoding::audio, .shape = shape};
    record.parts = {&part, 1};
  }
  AudioRecord(const AudioRecord&) = delete;
  std::vector<std::int64_t> shape;
  Part part;
  Record record;
};

/// Records of recordings in memory.
class Utterances final : public Dataset {
 public:
  explicit Utterances(std::vector<std::vector<std::byte>> files) : files_(std::move(files)) {}
  std::uint64_t size() const override { return files_.size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    buffer.parts = {{.name = "audio", .encoding = Encoding::audio, .bytes = files_.at(id)}};
    Record record;
    record.id = id;
    record.parts = buffer.parts;
    return record;
  }
  std::vector<PartForm> parts() const override { return {audio_form}; }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return "memory #" + std::to_string(id); }

 private:
  std::vector<std::vector<std::byte>> files_;
};

std::unique_ptr<Transform> speech(const char* kind, const Values& values, bool training = false,
                                  const Dataset& dataset = MemoryDataset({}), const PartForm& from = audio_form) {
  const auto& entry = transforms().at(kind);
  auto keys = with_name(entry);
  keys.push_back({"from", Kind::text, std::string("audio"), "the part"});
  keys.push_back({"as", Kind::text, std::string(kind), "the transform"});
  return entry.make(settings_for(keys, values, "field"),
                    {.dataset = dataset, .training = training, .name = "features", .from = from});
}

/// A row of a field of floats, and the length that the row states.
struct MadeRow {
  std::vector<float> values;
  std::int64_t length = -1;
  std::int64_t extent = 0;
};

MadeRow make_row(const Transform& transform, const Record& record, std::uint64_t position = 3, std::int64_t more = 0) {
  MadeRow row;
  transform.measure(record, {&row.extent, 1});
  row.extent += more;
  const auto fields = transform.fields();
  REQUIRE(fields.size() == 2);
  row.values.assign(fields[0].row_bytes(std::span(&row.extent, 1)) / sizeof(float), 77.0f);
  std::byte* const to[] = {std::as_writable_bytes(std::span(row.values)).data(),
                           std::as_writable_bytes(std::span(&row.length, 1)).data()};
  transform.make(record, Stream(1, Purpose::sample, position), Row(to, {&row.extent, 1}));
  return row;
}

/// Draws a signal by a linear congruence, which other languages repeat to the bit.
std::vector<float> drawn_signal(std::size_t samples, std::uint32_t seed = 12345) {
  std::vector<float> signal(samples);
  for (float& each : signal) {
    seed = seed * 1664525 + 1013904223;
    each = (static_cast<float>(seed >> 8) / 16777216.0f - 0.5f) * 0.25f;
  }
  return signal;
}

/// The references of features_peer.py, the settings that have their values, and some of these values of the signal
/// drawn_signal(3200): at (frame, value) (0, 0), (0, 5), (7, width / 2), (9, width - 1), (frames - 1, 1).
struct Reference {
  const char* name;
  const char* package;
  const char* transform;
  Values settings;
  std::size_t frames, width;
  std::vector<double> golden;
  std::uint32_t rate = 16000;
};

const std::vector<Reference>& references() {
  static const Value no_bins = std::int64_t{40}, few_bins = std::int64_t{23};
  static const auto at_rate = [](std::int64_t rate) { return Values{{"rate", rate}, {"bins", no_bins}}; };
  static const auto at_44100 = [] {
    auto values = at_rate(44100);
    values.emplace_back("hop_ms", 2.5);
    return values;
  };
  static const std::vector<Reference> all{
      {"torchaudio_logmel",
       "torchaudio",
       "logmel",
       {{"values", words("torchaudio")}},
       21,
       80,
       {-1.89919, -2.91318, -1.17765, 1.94103, -3.30136}},
      {"torchaudio_slaney",
       "torchaudio",
       "logmel",
       {{"values", words("torchaudio")},
        {"n_fft", std::int64_t{512}},
        {"bins", no_bins},
        {"f_min", 50.0},
        {"f_max", 7600.0},
        {"window", words("hamming")},
        {"mel", words("slaney")},
        {"edges", words("snip")}},
       17,
       40,
       {-2.6921, -4.33745, -2.98291, -3.36508, -4.28161}},
      {"torchaudio_mfcc",
       "torchaudio",
       "mfcc",
       {{"values", words("torchaudio")}},
       21,
       13,
       {24.462, -4.97817, 2.30079, 3.9103, -22.2681}},
      {"whisper",
       "torchaudio",
       "logmel",
       {{"values", words("whisper")}},
       20,
       80,
       {0.558846, 0.392571, 0.47746, 0.596941, 0.482038}},
      {"kaldi_logmel", "kaldi_native_fbank", "logmel", {}, 18, 80, {13.2579, 16.5355, 19.971, 22.9479, 13.0474}},
      {"kaldi_reflected",
       "kaldi_native_fbank",
       "logmel",
       {{"edges", words("reflect")}},
       20,
       80,
       {13.6484, 14.7331, 18.9201, 24.6039, 12.3779}},
      {"kaldi_11025_hertz",
       "kaldi_native_fbank",
       "logmel",
       at_rate(11025),
       27,
       40,
       {15.9712, 15.5386, 21.8748, 23.3342, 13.2929},
       11025},
      {"kaldi_22050_hertz",
       "kaldi_native_fbank",
       "logmel",
       at_rate(22050),
       13,
       40,
       {14.0042, 16.9797, 22.3601, 26.1606, 14.395},
       22050},
      {"kaldi_44100_hertz",
       "kaldi_native_fbank",
       "logmel",
       at_44100(),
       20,
       40,
       {16.0392, 17.9414, 22.3068, 27.6336, 15.4491},
       44100},
      {"kaldi_fractions",
       "kaldi_native_fbank",
       "logmel",
       {{"bins", few_bins}, {"frame_ms", 11.3}, {"hop_ms", 3.7}},
       52,
       23,
       {13.3618, 18.1546, 21.1581, 23.0148, 15.0969}},
      {"kaldi_gaps",
       "kaldi_native_fbank",
       "logmel",
       {{"bins", few_bins}, {"edges", words("reflect")}, {"frame_ms", 10.0}, {"hop_ms", 15.0}},
       13,
       23,
       {14.4534, 17.9969, 19.4632, 23.9616, 13.4197}},
      {"kaldi_mfcc", "kaldi_native_fbank", "mfcc", {}, 18, 13, {101.787, 5.52246, 3.04442, -3.43797, -39.6184}},
      {"kaldi_energy",
       "kaldi_native_fbank",
       "mfcc",
       {{"energy", true}},
       18,
       13,
       {21.4831, 5.52246, 3.04442, -3.43797, -39.6184}}};
  return all;
}

std::vector<float> floats_in(const std::filesystem::path& path) {
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

}  // namespace

TEST_CASE("features have the values of torchaudio, Kaldi and Whisper") {
  for (const auto& reference : references()) {
    CAPTURE(reference.name);
    const auto file = wav_of(drawn_signal(3200), 1, reference.rate);
    const AudioRecord one(file);
    const auto row = make_row(*speech(reference.transform, reference.settings), one.record, 3, 2);
    REQUIRE(row.length == static_cast<std::int64_t>(reference.frames));
    REQUIRE(row.values.size() == (reference.frames + 2) * reference.width);
    const std::size_t w = reference.width;
    const std::size_t at[] = {0, 5, 7 * w + w / 2, 9 * w + w - 1, (reference.frames - 1) * w + 1};
    for (std::size_t i = 0; i < 5; ++i) {
      CAPTURE(i);
      CHECK(row.values[at[i]] == doctest::Approx(reference.golden[i]).epsilon(2e-5));
    }
    CHECK(row.values[reference.frames * w] == 0);  // what is left is filled
  }
}

// Some values of a hundred thousand, and the cepstra that they enter, differ by up to 1e-3 where a filter's power is
// tiny. The references compute in single precision, too, which may be why; it was not held against double precision.
TEST_CASE("features of 1,000 random signals differ from their references by less than 1e-4, but for a few values") {
  SKIP_UNLESS(test::python_has("torchaudio") && test::python_has("kaldi_native_fbank"), "python3-torchaudio",
              "python3 cannot import torchaudio and kaldi_native_fbank");
  const TempFolder folder;
  std::vector<std::vector<float>> signals;
  std::string bytes;
  Stream random(1, Purpose::sample, 1);
  for (int i = 0; i < 1000; ++i) {
    auto& signal = signals.emplace_back(1200 + random.below(6000));
    const double loudness = std::pow(10.0, random.uniform(-2, -0.5)), tone = random.uniform(0.01, 1.5);
    for (std::size_t n = 0; n < signal.size(); ++n)
      signal[n] = static_cast<float>(loudness * (0.3 * random.normal() + 0.5 * std::sin(tone * double(n))));
    const auto length = static_cast<float>(signal.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(reinterpret_cast<const char*>(signal.data()), signal.size() * sizeof(float));
  }
  const auto path = folder.write("signals", bytes);
  for (const auto& reference : references()) {
    CAPTURE(reference.name);
    const auto output = folder.write("output", "");
    test::output_of(concat(test::python_command("tests/sampling/features_peer.py"), " ", reference.name, " '",
                           path.string(), "' '", output.string(), "'"));
    const auto expected = floats_in(output);
    const auto transform = speech(reference.transform, reference.settings);
    std::size_t at = 0;
    float worst = 0;
    std::size_t beyond = 0;
    for (const auto& signal : signals) {
      const auto file = wav_of(signal, 1, reference.rate);
      const auto row = make_row(*transform, AudioRecord(file).record);
      REQUIRE(at + row.values.size() <= expected.size());
      for (const float each : row.values) {
        const float wanted = expected[at++];
        const float error = std::abs(each - wanted) / std::max(1.0f, std::abs(wanted));
        worst = std::max(worst, error);
        beyond += error > 1e-4f;
      }
    }
    CHECK(at == expected.size());
    MESSAGE(std::string(reference.name), ": worst ", worst, ", ", beyond, " of ", at, " values beyond 1e-4");
    CHECK(double(beyond) <= 5e-4 * double(at));
    CHECK(worst <= 2e-3f);
  }
}

TEST_CASE("recordings are resampled as by the package soxr") {
  SKIP_UNLESS(test::python_has("soxr"), "python3-soxr", "python3 cannot import soxr");
  const TempFolder folder;
  const auto signal = drawn_signal(30000);
  const auto path =
      folder.write("signal", {reinterpret_cast<const char*>(signal.data()), signal.size() * sizeof(float)});
  for (const int from : {44100, 8000, 22050}) {
    const auto output = folder.write("output", "");
    const auto script = folder.write("peer.py", concat("import numpy, soxr\nx = numpy.fromfile('", path.string(),
                                                       "', dtype=numpy.float32)\nsoxr.resample(x, ", from,
                                                       ", 16000, quality='HQ').tofile('", output.string(), "')\n"));
    const char* packages = std::getenv("FLOWTRAIN_TEST_PYTHONPATH");
    test::output_of(concat("PYTHONPATH='", packages ? packages : "", "' python3 '", script.string(), "'"));
    const auto expected = floats_in(output);
    auto made = signal;
    resample(made, 1, from, 16000);
    CHECK(std::abs(double(made.size()) - double(expected.size())) <= 1);
    float worst = 0;
    for (std::size_t i = 0; i < std::min(made.size(), expected.size()); ++i)
      worst = std::max(worst, std::abs(made[i] - expected[i]));
    CAPTURE(from);
    CHECK(worst <= 1e-5f);
  }
}

TEST_CASE("a resampled tone stays a tone, and its state is fresh each time") {
  std::vector<float> tone(44100);
  for (std::size_t i = 0; i < tone.size(); ++i) tone[i] = std::sin(0.05f * static_cast<float>(i));
  auto first = tone, second = tone;
  resample(first, 1, 44100, 16000);
  resample(second, 1, 44100, 16000);
  CHECK(first == second);
  REQUIRE(first.size() == 16000);
  std::vector<float> slow(1'000'000);
  CHECK_THROWS_WITH_AS(resample(slow, 1, 100, 48000), doctest::Contains("more than a sample may have"), SampleError);
  for (std::size_t i = 1000; i < 15000; ++i)
    REQUIRE(first[i] == doctest::Approx(std::sin(0.05 * 44100 / 16000 * double(i))).epsilon(1e-3).scale(1));
}

TEST_CASE("wave mixes or keeps channels, resamples, pads, cuts and tells its length") {
  const std::vector<float> stereo{0.5f, 0.25f, -0.5f, 0.25f, 0.125f, 0.5f};
  const auto file = wav_of(stereo, 2);
  const AudioRecord one(file);
  const auto mono = make_row(*speech("wave", {}), one.record, 3, 1);
  CHECK(mono.values == std::vector<float>{0.375f, -0.125f, 0.3125f, 0});
  CHECK(mono.length == 3);
  CHECK(make_row(*speech("wave", {{"channel", std::int64_t{1}}}), one.record).values ==
        std::vector<float>{0.25f, 0.25f, 0.5f});
  const auto both = speech("wave", {{"channels", std::int64_t{2}}});
  CHECK(both->fields()[0].shape == std::vector<std::int64_t>{480000, 2});
  CHECK(make_row(*both, one.record).values == stereo);
  CHECK(make_row(*speech("wave", {{"max", 0.000125}}), one.record).values == std::vector<float>{0.375f, -0.125f});
  const auto padded = make_row(*speech("wave", {{"pad", 0.00025}}), one.record);
  CHECK(padded.values == std::vector<float>{0.375f, -0.125f, 0.3125f, 0});
  const std::vector<float> opposed{0.5f, -0.5f, 0.25f, -0.25f}, left{0.5f, 0.0f, 0.25f, 0.0f};
  const auto cancelled = wav_of(opposed, 2), left_only = wav_of(left, 2);
  CHECK_THROWS_WITH_AS(make_row(*speech("wave", {}), AudioRecord(cancelled).record),
                       "the mean of its 2 channels is silent", SampleError);
  CHECK_THROWS_WITH_AS(make_row(*speech("wave", {{"channel", std::int64_t{1}}}), AudioRecord(left_only).record),
                       "its channel 1 is silent", SampleError);
  CHECK_THROWS_WITH_AS(make_row(*speech("wave", {{"channel", std::int64_t{2}}}), one.record),
                       "it has 2 channels, but 'channel' is 2", SampleError);
  CHECK_THROWS_WITH_AS(
      make_row(*speech("wave", {{"longer", words("error")}, {"max", 0.001}}), AudioRecord(1600, 1, 16000).record),
      "it has 0.1 seconds, more than max", SampleError);
  CHECK_THROWS_AS(speech("wave", {}, false, MemoryDataset({}), {"txt", Encoding::text}), UserError);
}

TEST_CASE("fields of sound tell how many of their positions are a second") {
  const auto wave = speech("wave", {{"rate", std::int64_t{8000}}})->fields();
  CHECK(wave[0].per_second == 8000);
  CHECK(wave[1].per_second == 0);
  for (const char* kind : {"logmel", "mfcc"}) {
    CHECK(speech(kind, {})->fields()[0].per_second == 100);
    CHECK(speech(kind, {{"hop_ms", 12.5}})->fields()[0].per_second == 80);
  }
}

TEST_CASE("extents are known from outlines, also at other rates and with the slowest speed") {
  const AudioRecord outline(44100, 2, 44100), brief(300, 1, 16000);
  std::int64_t extent = 0;
  speech("wave", {})->measure(outline.record, {&extent, 1});
  CHECK(extent == 16000);
  speech("logmel", {})->measure(outline.record, {&extent, 1});
  CHECK(extent == 98);
  const Values speeds{{"speed", Reals{0.8, 1.0}}};
  speech("wave", speeds, true)->measure(outline.record, {&extent, 1});
  CHECK(extent == 20000);
  speech("wave", speeds, false)->measure(outline.record, {&extent, 1});
  CHECK(extent == 16000);
  // A speed that is refused when it is drawn does not make the record damaged at all others.
  speech("wave", {{"speed", Reals{0.8, 1.25}}, {"longer", words("error")}, {"max", 1.0}}, true)
      ->measure(outline.record, {&extent, 1});
  CHECK(extent == 16000);
  speech("logmel", {{"speed", Reals{0.5, 1.0}}}, true)->measure(brief.record, {&extent, 1});
  CHECK(extent == 2);
  CHECK_THROWS_WITH_AS(speech("logmel", {})->measure(brief.record, {&extent, 1}),
                       "it has 300 samples, fewer than one frame takes", SampleError);
}

TEST_CASE("a recording that became longer than its measured length is refused, and one that no plan measured is cut") {
  const auto file = wav_of(drawn_signal(16000));
  const AudioRecord one(file);
  for (const char* kind : {"wave", "logmel"}) {
    CAPTURE(kind);
    const auto transform = speech(kind, {});
    const auto cut = make_row(*transform, one.record, 3, -5);
    CHECK(cut.length == cut.extent);
    const PlannedRow planned(true);
    CHECK(make_row(*transform, one.record, 3, 5).length == cut.extent + 5);
    CHECK_THROWS_WITH_AS(make_row(*transform, one.record, 3, -5), doctest::Contains("since its length was measured"),
                         SampleError);
  }
}

TEST_CASE("a row at another speed states the length that it has") {
  const auto file = wav_of(drawn_signal(16000));
  const AudioRecord one(file);
  const auto transform = speech("wave", {{"speed", Reals{0.8, 1.0, 1.25}}}, true);
  std::map<std::int64_t, int> lengths;
  for (std::uint64_t position = 0; position < 60; ++position) {
    const auto row = make_row(*transform, one.record, position);
    CHECK(row.extent == 20000);
    ++lengths[row.length];
    CHECK(std::all_of(row.values.begin() + row.length, row.values.end(), [](float each) { return each == 0; }));
  }
  CHECK(lengths.size() == 3);
  CHECK(lengths[20000] > 5);
  CHECK(lengths[16000] > 5);
  CHECK(lengths[12800] > 5);
}

TEST_CASE("the mean and variance of each value are those of the utterance, or of the training data") {
  std::vector<std::vector<std::byte>> files;
  for (std::uint32_t i = 0; i < 70; ++i) files.push_back(wav_of(drawn_signal(1600 + 100 * i, i)));
  const Utterances utterances(files);
  const AudioRecord one(files[5]);
  const auto row = make_row(*speech("logmel", {{"normalise", words("utterance")}}), one.record);
  const std::size_t frames = row.values.size() / 80;
  double sum = 0, squares = 0;
  for (std::size_t t = 0; t < frames; ++t)
    sum += row.values[t * 80 + 3], squares += std::pow(row.values[t * 80 + 3], 2);
  CHECK(sum / double(frames) == doctest::Approx(0).epsilon(1e-5).scale(1));
  CHECK(squares / double(frames) == doctest::Approx(1).epsilon(1e-4));

  const TempFolder folder;
  const Values set{{"normalise", words("set")}, {"statistics", (folder.path() / "set.txt").string()}};
  CHECK_THROWS_WITH_AS(speech("logmel", set, false, utterances), doctest::Contains("there is no file"), UserError);
  CHECK_THROWS_WITH_AS(speech("logmel", {{"normalise", words("set")}}, true, utterances),
                       doctest::Contains("field.statistics: is missing"), UserError);
  const auto training = speech("logmel", set, true, utterances), validation = speech("logmel", set, false, utterances);
  double mean = 0, count = 0;
  for (const auto& file : files) {
    const AudioRecord each(file);
    const auto normal = make_row(*training, each.record);
    CHECK(normal.values == make_row(*validation, each.record).values);
    for (std::size_t at = 7; at < normal.values.size(); at += 80) mean += normal.values[at], ++count;
  }
  CHECK(mean / count == doctest::Approx(0).epsilon(1e-5).scale(1));
  for (const auto& change : Values{{"hop_ms", 20.0}, {"max", 1.0}}) {
    auto others = set;
    others.push_back(change);
    CHECK_THROWS_WITH_AS(speech("logmel", others, true, utterances), doctest::Contains("features with other keys"),
                         UserError);
  }
  static std::string warning;
  set_warning_sink([](const std::string& text) { warning = text; });
  const Utterances fewer(std::vector(files.begin(), files.begin() + 9));
  speech("logmel", set, true, utterances);
  speech("logmel", set, false, fewer);
  CHECK(warning.empty());
  speech("logmel", set, true, fewer);
  CHECK(warning.find("has the statistics of other training data") != std::string::npos);
  set_warning_sink(nullptr);
}

TEST_CASE("SpecAugment masks the shares that it says, and only in training") {
  constexpr std::size_t frames = 200, width = 80;
  const SpecAugment augment{
      .frequency_masks = 1, .frequency_mask = 20, .time_masks = 1, .time_mask = 50, .time_share = 0.1};
  double bins = 0, rows = 0;
  constexpr int draws = 2000;
  for (int i = 0; i < draws; ++i) {
    std::vector<float> features(frames * width);
    for (std::size_t n = 0; n < features.size(); ++n) features[n] = static_cast<float>(n % 7) + 0.25f;
    const auto before = features;
    Stream random(7, Purpose::sample, static_cast<std::uint64_t>(i));
    augment_spectrum(augment, random, features, width);
    std::size_t masked_bins = 0, masked_rows = 0;
    for (std::size_t b = 0; b < width; ++b) {
      bool all = true;
      for (std::size_t t = 0; all && t < frames; ++t) all = features[t * width + b] != before[t * width + b];
      masked_bins += all;
    }
    for (std::size_t t = 0; t < frames; ++t) {
      bool all = true;
      for (std::size_t b = 0; all && b < width; ++b) all = features[t * width + b] != before[t * width + b];
      masked_rows += all;
    }
    CHECK(masked_bins <= 20);
    CHECK(masked_rows <= 20);  // a tenth of the frames
    bins += double(masked_bins), rows += double(masked_rows);
  }
  CHECK(bins / draws == doctest::Approx(10).epsilon(0.05));
  CHECK(rows / draws == doctest::Approx(10).epsilon(0.05));

  const auto file = wav_of(drawn_signal(16000));
  const AudioRecord one(file);
  const Values masks{
      {"time_masks", std::int64_t{2}}, {"frequency_masks", std::int64_t{2}}, {"time_warp", std::int64_t{5}}};
  const auto plain = make_row(*speech("logmel", {}), one.record).values;
  CHECK(make_row(*speech("logmel", masks, false), one.record).values == plain);
  CHECK(make_row(*speech("logmel", masks, true), one.record).values != plain);
  CHECK(make_row(*speech("logmel", masks, true), one.record, 8).values ==
        make_row(*speech("logmel", masks, true), one.record, 8).values);
}

TEST_CASE("noise is added at the ratio that is drawn, and rooms keep the power") {
  const auto signal = drawn_signal(16000);
  const auto power = [](std::span<const float> values) {
    double sum = 0;
    for (const float each : values) sum += double{each} * each;
    return sum / double(values.size());
  };
  const TempFolder folder;
  const auto write = [&](const char* name, std::span<const float> samples) {
    const auto file = wav_of(samples);
    folder.write(name, {reinterpret_cast<const char*>(file.data()), file.size()});
  };
  write("noise/a.wav", drawn_signal(40000, 9));
  write("noise/b.wav", drawn_signal(3000, 10));
  write("rooms/delta.wav", std::vector<float>{0, 0, 0.5f, 0, 0});
  write("rooms/none.txt", std::vector<float>{});
  const auto file = wav_of(signal);
  const AudioRecord one(file);
  const auto noisy = speech(
      "wave", {{"noise", (folder.path() / "noise").string()}, {"noise_snr", Reals{10, 10}}, {"noise_probability", 1.0}},
      true);
  for (std::uint64_t position = 0; position < 20; ++position) {
    auto row = make_row(*noisy, one.record, position).values;
    for (std::size_t i = 0; i < row.size(); ++i) row[i] -= signal[i];
    CHECK(10 * std::log10(power(signal) / power(row)) == doctest::Approx(10).epsilon(1e-3));
  }
  const auto room = speech("wave", {{"reverb", (folder.path() / "rooms").string()}, {"reverb_probability", 1.0}}, true);
  const auto heard = make_row(*room, one.record).values;
  for (std::size_t i = 0; i < signal.size(); ++i)
    REQUIRE(heard[i] == doctest::Approx(signal[i]).epsilon(1e-5).scale(1));
  const auto loud = make_row(*speech("wave", {{"gain", Reals{6, 6}}}, true), one.record).values;
  CHECK(power(loud) / power(signal) == doctest::Approx(std::pow(10, 0.6)).epsilon(1e-4));
  write("halls/a.wav", drawn_signal(160001));
  CHECK_THROWS_WITH_AS(speech("wave", {{"reverb", (folder.path() / "halls").string()}}, true),
                       doctest::Contains("seconds, but may have 10"), UserError);
  CHECK_THROWS_WITH_AS(speech("wave", {{"noise", folder.write("empty/a.txt", "x").parent_path().string()}}, true),
                       doctest::Contains("no recordings in"), UserError);
}

TEST_CASE("a warm transform of recordings allocates nothing") {
  const auto file = wav_of(drawn_signal(32000));
  const AudioRecord one(file);
  const Values masks{{"time_masks", std::int64_t{2}},
                     {"frequency_masks", std::int64_t{2}},
                     {"time_warp", std::int64_t{5}},
                     {"normalise", words("utterance")},
                     {"gain", Reals{-3, 3}}};
  for (const auto& transform : {speech("logmel", masks, true), speech("mfcc", {{"values", words("torchaudio")}}),
                                speech("logmel", {{"values", words("whisper")}}), speech("wave", {})}) {
    MadeRow row = make_row(*transform, one.record);
    const long before = test::allocations;
    std::byte* const to[] = {std::as_writable_bytes(std::span(row.values)).data(),
                             std::as_writable_bytes(std::span(&row.length, 1)).data()};
    for (std::uint64_t position = 0; position < 20; ++position)
      transform->make(one.record, Stream(1, Purpose::sample, position), Row(to, {&row.extent, 1}));
    CHECK(test::allocations == before);
  }
}

TEST_CASE("a wave is shown with its spectrogram and a sound, features as a spectrogram") {
  const auto file = wav_of(drawn_signal(16000));
  const AudioRecord one(file);
  for (const char* kind : {"wave", "logmel"}) {
    CAPTURE(kind);
    const auto transform = speech(kind, {});
    const auto row = make_row(*transform, one.record);
    const auto shown =
        show(stored_shape(transform->fields()[0], std::span(&row.extent, 1)), std::as_bytes(std::span(row.values)));
    CHECK(shown.picture.width > 90);
    CHECK(shown.picture.height == 80);
    CHECK(shown.sound.empty() == (std::string_view(kind) == "logmel"));
  }
}

TEST_CASE("keys of features that cannot be are refused") {
  CHECK_THROWS_WITH_AS(speech("logmel", {{"n_fft", std::int64_t{399}}}), doctest::Contains("n_fft must be even"),
                       UserError);
  CHECK_THROWS_WITH_AS(speech("logmel", {{"f_min", 9000.0}}), doctest::Contains("f_min: 0 <= f_min < f_max"),
                       UserError);
  CHECK_THROWS_WITH_AS(speech("logmel", {{"f_max", 9000.0}}), doctest::Contains("f_max: 0 <= f_min < f_max"),
                       UserError);
  CHECK_THROWS_WITH_AS(speech("mfcc", {{"coefficients", std::int64_t{24}}}),
                       doctest::Contains("more coefficients than bins"), UserError);
  CHECK_THROWS_WITH_AS(speech("mfcc", {{"values", words("whisper")}}), doctest::Contains("no cepstra"), UserError);
  CHECK_THROWS_WITH_AS(speech("wave", {{"gain", Reals{3, 1}}}), doctest::Contains("the least and the greatest"),
                       UserError);
  for (const Values& values : {Values{{"statistics", words("set.txt")}}, Values{{"noise_snr", Reals{5, 10}}},
                               Values{{"reverb_probability", 0.1}}, Values{{"time_share", 0.5}},
                               Values{{"frequency_mask", std::int64_t{9}}}, Values{{"energy_floor", 1.0}}}) {
    CAPTURE(values[0].first);
    CHECK_THROWS_WITH_AS(speech("mfcc", values), doctest::Contains("has no effect without"), UserError);
  }
  CHECK_THROWS_WITH_AS(speech("wave", {{"channels", std::int64_t{2}}, {"channel", std::int64_t{0}}}),
                       doctest::Contains("has no effect without one channel"), UserError);
}

}  // namespace flowtrain::speech_features_test
