// Training on recordings with transcripts, by the loss ctc.

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "sampling/audio/sound.h"
#include "sampling/core/random.h"
#include "sampling/core/text.h"
#include "tests/support/sounds.h"
#include "tests/support/temp_run.h"

namespace flowtrain::transcripts_test {
namespace {

/// A recording of 75 ms a letter: a tone that means it and a short silence, with some noise.
std::string sound_of(const std::string& text, std::uint64_t number) {
  Stream random(3, Purpose::sample, number);
  Sound sound{.channels = 1, .rate = 8000};
  for (const char letter : text)
    for (int i = 0; i < 600; ++i) {
      const double value = i < 480 ? std::sin(2 * std::numbers::pi * i * (400 + 450 * (letter - 'a')) / 8000) : 0;
      sound.samples.push_back(static_cast<float>(0.2 * value + 0.01 * static_cast<double>(random.below(1000)) / 1000));
    }
  return wav_of(sound);
}

/// Writes 60 recordings of one to five letters, and a table of them.
void write_recordings(const TempFolder& folder) {
  std::string table = "audio,text\n";
  for (std::uint64_t number = 0; number < 60; ++number) {
    Stream letters(5, Purpose::sample, number);
    std::string text(1 + letters.below(5), 'a');
    for (char& letter : text) letter = static_cast<char>('a' + letters.below(4));
    folder.write(concat("sound/", number, ".wav"), sound_of(text, number));
    table += concat("sound/", number, ".wav,", text, '\n');
  }
  folder.write("sounds.csv", table);
}

/// A configuration that learns the letters in some seconds.
std::string config_of(const std::string& net) {
  return "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 90\n"
         "[data]\ndataset = \"manifest\"\npath = \"sounds.csv\"\nval_share = 0.1\n"
         "[[field]]\nname = \"features\"\nfrom = \"audio\"\nas = \"logmel\"\nbins = 16\n"
         "max = 1.0\nnormalise = \"utterance\"\n"
         "[[field]]\nname = \"label\"\nfrom = \"text\"\nas = \"tokens\"\nmax = 8\nfill = -100\n"
         "[loader]\nbatch = 9\nworkers = 2\n[net]\n" +
         net +
         "[loss]\nname = \"ctc\"\n[optim]\nname = \"adamw\"\nlr = 0.01\n"
         "[val]\nmetrics = []\nevery = 45\n[snapshot]\nevery = 45\n[display]\nevery = 1\n";
}

const std::string conformer =
    "name = \"conformer\"\nlayers = 1\nwidth = 16\nheads = 2\nkernel = 3\nsubsampling = 2\nchannels = 4\n"
    "dropout = 0.0\n";
const std::string crnn = "name = \"crnn\"\nchannels = [8]\nwidth = 32\n";

double loss_at(const std::filesystem::path& run, std::size_t place, const std::string& kind = "train") {
  const auto lines = metrics_of(run, kind);
  return lines.at(place < lines.size() ? place : lines.size() - 1).at("loss").get<double>();
}

}  // namespace

TEST_CASE("conformer and crnn learn transcripts by the loss ctc") {
  for (const std::string& net : {conformer, crnn}) {
    CAPTURE(net);
    const TempRun place(config_of(net));
    write_recordings(place.folder());
    REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
    CHECK(loss_at(place.path("run"), 0) > 3);
    CHECK(loss_at(place.path("run"), 999) < 1);
    CHECK(loss_at(place.path("run"), 999, "val") < 1);
    for (const auto& line : metrics_of(place.path("run"), "train")) REQUIRE(line.at("loss.too_long") == 0);

    // A run that goes on after its first half ends with the same weights.
    REQUIRE_EXIT(place.train({"--run-dir", "half", "--max-iter", "45"}), 0);
    REQUIRE_EXIT(place.run({"half", "--max-iter", "90", "--accept-changes"}), 0);
    CHECK(end_of(place.path("half")) == end_of(place.path("run")));
  }
}

TEST_CASE("transcripts that are longer than their frames are told, and end a run that wants them to") {
  const TempRun place(config_of(conformer));
  write_recordings(place.folder());
  place.folder().write("sounds.csv", read_text(place.path("sounds.csv")) +
                                         "sound/0.wav,abcdabcd\nsound/1.wav,aaaaaaaa\n" +
                                         "sound/2.wav,aaaaaaaa\nsound/3.wav,aaaaaaaa\n");
  const Words few{"--max-iter", "8", "--set", "val.every=0", "--set", "net.subsampling=4"};
  const auto told = place.train(with({"--run-dir", "run"}, few));
  REQUIRE_EXIT(told, 0);
  CHECK_SAYS(told, "; such rows do not count, and their share of the rows is logged as loss.too_long");
  double share = 0;
  for (const auto& line : metrics_of(place.path("run"), "train")) share += line.at("loss.too_long").get<double>();
  CHECK(share > 0);
  const auto stopped = place.train(with({"--set", "loss.too_long=stop"}, few));
  CHECK_EXIT(stopped, 2);
  CHECK_SAYS(stopped, "loss.name: loss ctc: the transcript of row ");
  CHECK_SAYS(stopped, "hint: leave such recordings out, join fewer frames, or set loss.too_long = \"skip\"");
}

TEST_CASE("a net of recordings without its fields is refused with the way out") {
  const TempRun place(config_of(conformer));
  write_recordings(place.folder());
  const auto refused = place.train({"--set", "field.0.name=frames"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "the batches have no field `features` with the values of each frame");
}

}  // namespace flowtrain::transcripts_test
