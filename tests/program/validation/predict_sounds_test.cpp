// Recordings through the whole program: trained on, shown by replay and validation, predicted on.

#include <doctest/doctest.h>

#include <sstream>

#include "sampling/core/text.h"
#include "tests/program/picture_files.h"
#include "tests/support/sounds.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_run.h"

namespace flowtrain {
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

}  // namespace flowtrain
