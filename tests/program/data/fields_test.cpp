// Rows of fields that are made from parts of samples, by the program.

#include <doctest/doctest.h>

#include <string>

#include "sampling/core/text.h"
#include "tests/support/temp_run.h"

namespace flowtrain::fields_test {
namespace {

/// A table of texts of 1 to 80 letters, with a class, a number and a list of numbers as long as the text.
std::string table_of_texts(int rows) {
  std::string table;
  for (int row = 0; row < rows; ++row) {
    const int length = 1 + row * 37 % 80;
    std::string numbers;
    for (int i = 0; i < length; ++i) numbers += concat(i == 0 ? "" : ", ", row + i);
    table += concat("{\"text\": \"", std::string(static_cast<std::size_t>(length), static_cast<char>('a' + row % 26)),
                    "\", \"label\": \"", row % 3, "\", \"weight\": ", row, ".5, \"numbers\": [", numbers, "]}\n");
  }
  return table;
}

const std::string fields = R"(
[data]
dataset = "manifest"
path = "texts.jsonl"
[[field]]
name = "text"
from = "text"
as = "bytes"
max = 64
[[field]]
name = "numbers"
from = "numbers"
as = "array"
max = [100]
fill = -1
)";

const std::string label = R"(
[[field]]
name = "label"
as = "label"
)";

/// Writes the table and the configurations of padded, bucketed and packed rows.
void write_texts(const TempFolder& folder) {
  const std::string of_text = fields.substr(0, fields.find("[[field]]\nname = \"numbers\""));
  folder.write("texts.jsonl", table_of_texts(150));
  folder.write("padded.toml", fields + label + "[loader]\nbatch = 8\n");
  folder.write("bucketed.toml", fields + label + "[loader]\nbudget = 400\nlength_of = \"text\"\n");
  folder.write("packed.toml", of_text + "[loader]\nbatch = 4\npack = true\n");
}

}  // namespace

TEST_CASE("rows of any length are the same from a sampler in another process, and of packed parts") {
  const TempRun place;
  write_texts(place.folder());
  for (const std::string form : {"padded", "bucketed", "packed"}) {
    CAPTURE(form);
    const Words compared{"bench", form + ".toml", "--same", "--seconds", "0.01", "--vs"};
    const auto isolated = place.run(with(compared, {"sampler.process=true"}));
    REQUIRE_EXIT(isolated, 0);
    CHECK_PRINTS(isolated, "have the same bytes\n");
    const auto workers = place.run(with(compared, {"loader.workers=3"}));
    REQUIRE_EXIT(workers, 0);
  }
  const auto packed = place.run({"pack", "padded.toml", "--out", "shards", "--split", "train"});
  REQUIRE_EXIT(packed, 0);
  const auto again =
      place.run({"bench", "padded.toml", "--same", "--seconds", "0.01", "--vs", "data.dataset=webdataset", "--vs",
                 "data.path=shards", "--vs", "field.0.from=text.txt", "--vs", "field.1.from=numbers.npy"});
  REQUIRE_EXIT(again, 0);
  CHECK_PRINTS(again, "all 150 compared samples have the same bytes\n");
}

TEST_CASE("a measurement tells the share of padding, and the positions that samples fill") {
  const TempRun place;
  write_texts(place.folder());
  for (const std::string form : {"padded", "bucketed", "packed"}) {
    const auto outcome = place.run({"bench", form + ".toml", "--stage", "pipeline", "--seconds", "0.05"});
    REQUIRE_EXIT(outcome, 0);
    CHECK_PRINTS(outcome, "positions of `text` per second; ");
    CHECK_PRINTS(outcome, "% of the batches is padding\n");
  }
}

TEST_CASE("plan describes data for which no net and no length of a run is given") {
  const TempRun place;
  write_texts(place.folder());
  for (const std::string form : {"padded", "bucketed", "packed"}) {
    CAPTURE(form);
    const auto plan = place.run({"plan", form + ".toml"});
    REQUIRE_EXIT(plan, 0);
    CHECK_PRINTS(plan, "; the first: ");
    CHECK_PRINTS(plan, "% of the positions is padding\n");
    CHECK_PRINTS(plan, "net         none: net.name is not given, so only the data are described\n");
    CHECK_PRINTS(plan, "note        neither run.max_iter nor run.max_epochs is given, so this is one epoch\n");
    CHECK(plan.out.find("\nlr ") == std::string::npos);
  }
}

TEST_CASE("replay shows each sample of packed rows, with its place") {
  const TempRun place;
  write_texts(place.folder());
  REQUIRE_EXIT(place.run({"replay", "packed.toml", "--iter", "2", "--set", "run.max_iter=9", "--out", "out"}), 0);
  const auto rows = nlohmann::json::parse(read_text(place.path("out/batch.json"))).at("rows");
  REQUIRE(rows.size() > 4);
  for (auto& row : rows) {
    const auto text = row.at("shown").at("text").get<std::string>();
    CHECK(text.find_first_not_of(text[0]) == text.npos);
    const std::string last = std::to_string(text.size() - 1);
    CHECK(row.at("shown").at("position") == (text.size() == 1 ? "0" : "0–" + last));
    const auto segment = row.at("shown").at("segment").get<std::string>();
    if (text.size() > 1) CHECK(segment.ends_with(" × " + std::to_string(text.size())));
  }
}

TEST_CASE("fields that do not fit are refused with the file, the line and the way out") {
  const TempRun place;
  write_texts(place.folder());
  const auto refused = [&](const Words& changes, const std::string& text) {
    CAPTURE(text);
    const auto outcome = place.run(with({"bench", "padded.toml", "--seconds", "0.01"}, changes));
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, text);
  };
  refused({"--set", "field.0.from=txet"},
          "--set: field.0.from: the data set has no part 'txet'\n  hint: did you mean 'text'?");
  refused({"--set", "field.0.as=byte"}, "field.0.as: no transform is called 'byte'\n  hint: did you mean 'bytes'?");
  refused({"--set", "field.1.max=[1,2]"},
          "field.1.max: has 2 numbers, but 1 of the 1 axes of the part 'numbers' differ");
  refused({"--set", "field.1.name=text"}, "field.1.name: two fields are called 'text'");
  refused({"--set", "sampler.name=classify"}, "sampler.name: [[field]] is given, too (padded.toml:6:1)");
  refused({"--set", "loader.pack=true"}, "loader.pack: the field 'numbers' has room for 100, another one for 64");
  refused({"--set", "loader.budget=400", "--set", "order.name=class_balanced"},
          "--set: loader.budget: chooses the samples of each batch by their lengths");
}

}  // namespace flowtrain::fields_test
