// Recordings through the whole program: trained on, shown by replay and validation, predicted on.

#include <doctest/doctest.h>

#include <sstream>

#include "sampling/core/text.h"
#include "tests/program/picture_files.h"
#include "tests/program/refusals.h"
#include "tests/support/sounds.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_run.h"

namespace flowtrain::predict_sounds_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string config_of_tones(const std::string& data, const std::string& label, const std::string& more) {
  return concat("name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 60\n[data]\n", data,
                "[[field]]\nname = \"features\"\nfrom = \"audio\"\nas = \"logmel\"\nrate = 8000\nbins = 16\n"
                "normalise = \"utterance\"\n[[field]]\nname = \"label\"\n",
                label,
                "[loader]\nbatch = 8\nworkers = 2\n[net]\nname = \"crnn\"\nchannels = [8]\nwidth = 16\n"
                "[optim]\nname = \"adamw\"\nlr = 0.01\n[val]\nevery = 30\npictures = 2\n[snapshot]\nevery = 30\n",
                more);
}

/// A letter is a tone of an eighth of a second, with a pause behind it.
Sound spoken(const std::string& text) {
  Sound sound{.channels = 1, .rate = 8000};
  for (const char letter : text) {
    const auto own = tone(1000, 1, 8000, 300.0 * (letter - 'a' + 1));
    sound.samples.insert(sound.samples.end(), own.samples.begin(), own.samples.end());
    sound.samples.resize(sound.samples.size() + 400);
  }
  return sound;
}

std::vector<json> json_lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("a classifier of recordings: replay and validation show them, and predict takes files, folders, archives") {
  const TempRun place(config_of_tones("dataset = \"audio_folder\"\npath = \"tones\"\n", "as = \"label\"\n",
                                      "[[field]]\nname = \"wave\"\nfrom = \"audio\"\nas = \"wave\"\nrate = 8000\n"));
  for (const std::string split : {"train", "val"})
    for (int i = 0; i < 16; ++i)
      place.folder().write(concat("tones/", split, i % 2 ? "/high/" : "/low/", i, ".wav"),
                           wav_of(tone(1600 + 40 * i, 1, 8000, i % 2 ? 1500 + 20 * i : 300 + 20 * i)));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  check_refused(place.run({"export", "run", "--out", "net.pt"}), 2,
                {"only nets of pictures are traced", "--format safetensors"});

  REQUIRE_EXIT(place.run({"replay", "run", "--iter", "3", "--out", "replayed"}), 0);
  const auto row = json::parse(read_text(place.path("replayed/batch.json"))).at("rows").at(0);
  CHECK(row.at("shown").at("features").get<std::string>().ends_with(" frames of 16"));
  const auto file = [&](const json& name) { return read_text(place.path("replayed") / name.get<std::string>()); };
  CHECK(file(row.at("picture")).starts_with("\x89PNG"));
  const auto heard = file(row.at("sounds").at("wave"));
  CHECK(sound_form(std::as_bytes(std::span(heard))).rate == 8000);

  const auto table = place.run({"predict", "run", "tones/val"});
  REQUIRE_EXIT(table, 0);
  CHECK_PRINTS(table, "tones/val/high/1.wav   high ");
  CHECK_SAYS(table, "16 samples in ");
  place.folder().write("new.tar",
                       TarBytes().entry("a.wav", wav_of(tone(1600, 1, 8000, 1510))).entry("a.txt", "").end());
  place.folder().write("cut.wav", wav_of(tone(1600)).substr(0, 900));
  const auto mixed =
      place.run({"predict", "run", "new.tar", "cut.wav", "tones/val/low/2.wav", "--jsonl", "--pictures", "drawn"});
  CHECK_EXIT(mixed, 3);
  const auto answers = json_lines_of(mixed.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].at("file") == "new.tar:a.wav");
  CHECK(answers[0].at("top").at(0).at("class") == "high");
  CHECK(answers[1].at("error").get<std::string>().find("the header promises 1600 frames") != std::string::npos);
  CHECK(answers[2].at("top").at(0).at("class") == "low");
  CHECK(read_text(answers[2].at("picture").get<std::string>().starts_with('/')
                      ? fs::path(answers[2].at("picture").get<std::string>())
                      : place.path(answers[2].at("picture").get<std::string>()))
            .starts_with("\x89PNG"));

  ProcessOptions options = place.process_options();
  options.input = place.folder().write("requests",
                                       "{\"file\": \"tones/val/low/2.wav\", \"id\": 4}\n"
                                       "{\"audio\": \"tones/val/high/1.wav\"}\n");
  const auto asked = json_lines_of(run_program({"predict", "run", "--jsonl"}, options).out);
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].at("id") == 4);
  CHECK(asked[0].at("top").at(0).at("class") == "low");
  CHECK(asked[1].at("top").at(0).at("class") == "high");
}

TEST_CASE("a net with a decoder: validation shows spectrograms with texts, and predict prints the texts") {
  const TempRun place(
      config_of_tones("dataset = \"manifest\"\npath = \"said.jsonl\"\n[data.val]\npath = \"heard.jsonl\"\n",
                      "from = \"text\"\nas = \"tokens\"\ntokenizer = \"bytes\"\nmax = 8\nfill = -100\n",
                      "[loss]\nname = \"ctc\"\n[decode]\nname = \"ctc_greedy\"\n"
                      "[[field]]\nname = \"speaker\"\nfrom = \"speaker\"\nas = \"bytes\"\nmax = 8\n"));
  std::string rows;
  for (int i = 0; i < 32; ++i) {
    const std::string text{char('a' + i % 4), char('a' + i / 4 % 4), char('a' + i / 16)};
    place.folder().write(concat("said/", i, ".wav"), wav_of(spoken(text)));
    rows += concat(R"({"audio": "said/)", i, R"(.wav", "text": ")", text, R"(", "speaker": ")", i % 2 ? "Ann" : "Bo",
                   "\"}\n");
  }
  for (const auto* const name : {"said.jsonl", "heard.jsonl"}) place.folder().write(name, rows);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--set", "run.max_iter=300", "--set", "val.every=100", "--set",
                            "net.channels=[16, 32]", "--set", "net.width=64", "--set", "val.metrics=[\"wer\"]", "--set",
                            "val.group_by=speaker"}),
               0);
  const auto line = metrics_of(place.path("run"), "val").back();
  CHECK(line.at("wer") < 0.2);
  CHECK(line.contains("wer.Ann"));

  const auto folder = place.path("run/pictures/iter-00000300");
  const auto shown = json::parse(read_text(folder / "pictures.json"));
  CHECK(shown.at("kind") == "transcribe");
  const auto& sample = shown.at("samples").at(0);
  CHECK(sample.contains("hypothesis"));
  CHECK(read_text(folder / sample.at("file").get<std::string>()).starts_with("\x89PNG"));

  // No field is a sound, so the recordings themselves can be heard.
  const auto sound_of = [](const fs::path& in, const json& entry) {
    for (auto& field : entry.at("fields"))
      if (field.at("name") == "audio") return read_text(in / field.at("sound_file").get<std::string>());
    return std::string();
  };
  CHECK(sound_of(folder, sample).starts_with("RIFF"));
  REQUIRE_EXIT(place.run({"test", "run"}), 0);
  const auto tested = json::parse(read_text(place.path("run/test/iter-00000300/pictures.json"))).at("worst").at(0);
  CHECK(sound_of(place.path("run/test/iter-00000300"), tested).starts_with("RIFF"));
  REQUIRE_EXIT(place.run({"replay", "run", "--iter", "3", "--out", "replayed"}), 0);
  const auto row = json::parse(read_text(place.path("replayed/batch.json"))).at("rows").at(0);
  CHECK(read_text(place.path("replayed") / row.at("sounds").at("audio").get<std::string>()).starts_with("RIFF"));

  const auto predicted = place.run({"predict", "run", "said", "--jsonl"});
  REQUIRE_EXIT(predicted, 0);
  const auto answers = json_lines_of(predicted.out);
  REQUIRE(answers.size() == 32);
  CHECK(answers[0].at("file") == "said/0.wav");
  CHECK(answers[0].at("text") == "aaa");
  CHECK_FALSE(answers[0].at("input").contains("speaker"));
  // Rows of a table may be segments.
  place.folder().write("new.jsonl", "{\"audio\": \"said/1.wav\", \"begin\": 0, \"end\": 0.35}\n");
  const auto table = place.run({"predict", "run", "new.jsonl", "said/0.wav"});
  REQUIRE_EXIT(table, 0);
  CHECK_PRINTS(table, "new.jsonl:1  ba");
  CHECK_PRINTS(table, "said/0.wav   aaa");
}

}  // namespace flowtrain::predict_sounds_test
