// A transform of one file is seen everywhere: in replays, plans, pictures, reports, tests and predictions.

#include <doctest/doctest.h>

#include <sstream>

#include "sampling/codecs/image.h"
#include "sampling/core/text.h"
#include "tests/support/temp_run.h"

namespace flowtrain::shown_test {
namespace {

using nlohmann::json;

const std::string fields = R"([data]
dataset = "manifest"
path = "bars.jsonl"
[data.val]
path = "val.jsonl"
[[field]]
name = "image"
from = "heights"
as = "bars"
[[field]]
name = "caption"
from = "caption"
as = "bytes"
max = 40
[[field]]
name = "label"
as = "label"
)";

/// Bars that rise or fall, with captions that would be markup in a page, and commands in a terminal.
std::string table_of_bars(int rows) {
  std::string table;
  for (int row = 0; row < rows; ++row) {
    const bool rises = row % 2 == 0;
    std::string heights;
    for (int i = 0; i < 16; ++i) heights += concat(i ? ", " : "", (rises ? i : 15 - i) * (row % 5 + 1) / 5);
    table += concat(R"({"heights": [)", heights, R"(], "caption": "<b>no. )", row, R"(</b> \u001b[31m", "label": ")",
                    rises ? "rising" : "falling", "\"}\n");
  }
  return table;
}

std::string config_of_bars() {
  const std::string config = tiny_config, begin = "[data]\n", end = "[loader]\n";
  const auto at = config.find(begin);
  return with_plugins({"bars"}, config.substr(0, at) + fields + config.substr(config.find(end)));
}

json read_json(const std::filesystem::path& path) { return json::parse(read_text(path)); }

Image picture_in(const std::filesystem::path& path) {
  Image picture;
  const std::string file = read_text(path);
  decode_image(std::as_bytes(std::span(file)), picture);
  return picture;
}

/// A heat map of bars begins at its upper left with the colour of 0.
bool is_heat_map(const Image& picture) {
  return picture.height == 16 && picture.width == 16 && picture.pixels[0] == 68 && picture.pixels[1] == 1;
}

}  // namespace

TEST_CASE("a transform of one file is shown by replay, plan, pictures, report, test and predict") {
  const TempRun place(config_of_bars());
  place.folder().write("bars.jsonl", table_of_bars(120));
  place.folder().write("val.jsonl", table_of_bars(20));
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--set", "val.pictures=4"}), 0);

  REQUIRE_EXIT(place.run({"replay", "run", "--iter", "3", "--out", "replayed"}), 0);
  const auto row = read_json(place.path("replayed/batch.json")).at("rows").at(0);
  CHECK(row.at("shown").at("image").get<std::string>().ends_with(" of 256 filled"));
  CHECK(row.at("shown").at("caption").get<std::string>().ends_with("</b> ?[31m"));
  CHECK(row.at("shown").at("label").get<std::string>().ends_with("ing"));
  CHECK_FALSE(row.at("shown").contains("caption_length"));
  CHECK(is_heat_map(picture_in(place.path("replayed") / row.at("picture").get<std::string>())));

  const auto plan = place.run({"plan", "tiny.toml"});
  REQUIRE_EXIT(plan, 0);
  CHECK_PRINTS(plan, "caption u8 ≤40; the first: <b>no. ");
  CHECK_PRINTS(plan, "label i64; the first: ");

  const auto folder = place.path("run/pictures/iter-00000060");
  const auto samples = read_json(folder / "pictures.json").at("samples");
  REQUIRE(samples.size() == 4);
  CHECK(is_heat_map(picture_in(folder / samples[0].at("file").get<std::string>())));
  CHECK(samples[0].at("fields").at(0).at("name") == "image");
  CHECK(samples[0].at("fields").at(1).at("name") == "caption");
  CHECK(samples[0].at("fields").at(1).at("text").get<std::string>().starts_with("<b>no. "));
  REQUIRE_EXIT(place.run({"report", "run"}), 0);
  CHECK(read_text(place.path("run/report.html")).find(" of 256 filled") != std::string::npos);

  REQUIRE_EXIT(place.run({"test", "run", "--iter", "60"}), 0);
  const auto worst = read_json(place.path("run/test/iter-00000060/pictures.json")).at("worst").at(0);
  CHECK(worst.at("fields").at(1).at("text").get<std::string>().starts_with("<b>no. "));
  CHECK(worst.contains("file"));

  const auto table = place.run({"predict", "run", "val.jsonl", "--top", "1"});
  REQUIRE_EXIT(table, 0);
  CHECK_PRINTS(table, "  caption: <b>no. 0</b> ?[31m\n");
  CHECK_SAYS(table, "20 samples in ");
  const auto lines = place.run({"predict", "run", "val.jsonl", "--jsonl", "--pictures", "seen"});
  REQUIRE_EXIT(lines, 0);
  const auto first = json::parse(first_line(lines.out));
  CHECK(first.at("file") == "val.jsonl:1");
  CHECK(first.at("input").at("caption") == "<b>no. 0</b> ?[31m");
  CHECK(first.at("input").at("image").get<std::string>().ends_with(" of 256 filled"));
  CHECK_FALSE(first.at("input").contains("label"));
  CHECK(is_heat_map(picture_in(place.path(first.at("picture")))));
}

TEST_CASE("records that are no pictures are predicted from tables, single files and requests") {
  const TempRun place(config_of_bars());
  place.folder().write("bars.jsonl", table_of_bars(120));
  place.folder().write("val.jsonl", table_of_bars(8));
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--set", "val.metrics=[\"accuracy\"]"}), 0);
  const auto tops = [&](const Outcome& outcome) {
    std::vector<json> all;
    std::istringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
    return all;
  };
  const auto whole = place.run({"predict", "run", "val.jsonl", "--jsonl"});
  REQUIRE_EXIT(whole, 0);
  const auto expected = tops(whole);
  REQUIRE(expected.size() == 8);

  const std::string heights = "[0, 1, 2.0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]";
  place.folder().write(
      "some.csv", "caption,heights\nfirst,\"" + heights + "\"\nsecond,nothing\n,\"" + heights + "\"\nfourth,[1]\n");
  const auto csv = place.run({"predict", "run", "some.csv", "--jsonl"});
  CHECK_EXIT(csv, 3);
  const auto rows = tops(csv);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].at("input").at("caption") == "first");
  CHECK(rows[1].at("error").get<std::string>().starts_with("the part 'heights' needs a list of numbers: nothing"));
  CHECK(rows[2].at("top") == rows[0].at("top"));
  CHECK(rows[3].at("error") == "the part 'heights' has a list of 1 values, where 16 are expected");

  std::string half = heights;
  half.replace(half.find("2.0"), 3, "2.5");
  ProcessOptions options = place.process_options();
  const std::string row = first_line(table_of_bars(1));
  options.input =
      place.folder().write("requests", row.substr(0, row.size() - 1) + ", \"id\": 5}\n{\"caption\": \"x\"}\n" +
                                           "{\"file\": \"a.jpg\"}\n{\"caption\": \"x\", \"heights\": " + half + "}\n");
  const auto asked = run_program({"predict", "run", "--jsonl"}, options);
  CHECK_EXIT(asked, 3);
  const auto answers = tops(asked);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].at("id") == 5);
  CHECK(answers[0].at("input") == expected[0].at("input"));
  CHECK(answers[0].at("top").at(0).at("class") == expected[0].at("top").at(0).at("class"));
  CHECK(answers[1].at("error") == "it lacks 'heights', which the net learnt from");
  CHECK(answers[2].contains("error"));
  CHECK(answers[3].at("error") == "the part 'heights' needs numbers of i64: 2.5");

  place.folder().write("alone.txt", "a text");
  const auto text = place.run({"predict", "run", "alone.txt"});
  CHECK_EXIT(text, 3);
  CHECK_SAYS(text, "alone.txt: the net learnt from heights, caption: give a table (.jsonl, .csv)");
}

}  // namespace flowtrain::shown_test
