// Training on groups of rows: labelled pictures, unlabelled ones of another size, and lists of tokens.

#include <doctest/doctest.h>

#include <fstream>

#include "sampling/core/text.h"
#include "tests/program/killed.h"
#include "tests/program/ranks.h"
#include "tests/program/refusals.h"
#include "tests/support/paths.h"
#include "tests/support/python.h"
#include "tests/support/read_text.h"

namespace flowtrain::groups_test {
namespace {

std::string grouped_config() {
  std::string text = tiny_config;
  const std::string data = "dataset = \"shapes\"\nsamples = 300\nval_samples = 40\nsize = 16\n";
  text.replace(text.find(data), data.size(), "epoch = \"longest\"\n");
  text.replace(text.find("batch = 16\n"), 11, "");
  text.replace(text.find("lr = 0.05"), 9, "lr = 0.005");
  return text + R"(
[[data.source]]
name = "labelled"
dataset = "shapes"
samples = 100
size = 16
rows = 4
[[data.source]]
name = "unlabelled"
dataset = "shapes"
samples = 90
size = 24
rows = 8
[[data.source]]
name = "text"
dataset = "manifest"
path = "tokens.jsonl"
rows = 2
[data.val]
dataset = "shapes"
val_samples = 40
size = 16
[[field]]
name = "image"
as = "image"
size = 16
source = "labelled"
[[field]]
name = "label"
as = "label"
source = "labelled"
[[field]]
name = "image"
as = "image"
size = 24
source = "unlabelled"
[[field]]
name = "tokens"
from = "tokens"
as = "array"
max = [20]
source = "text"
[step]
name = "grouped_step"
[verify]
every = 5
)";
}

/// A folder with a configuration that trains on three groups.
class GroupedRun : public TempRun {
 public:
  GroupedRun() : TempRun(with_plugins({"grouped_step"}, grouped_config())) {
    std::string tokens;
    for (int i = 0; i < 11; ++i) {
      tokens += "{\"tokens\": [" + std::to_string(i);
      for (int n = 0; n < i * 5 % 13; ++n) tokens += ", " + std::to_string(10 * i + n);
      tokens += "]}\n";
    }
    folder().write("tokens.jsonl", tokens);
  }
};

/// The ids and hashes of rows of each line of a run's verify.jsonl.
std::vector<nlohmann::json> rows_of(const fs::path& run) {
  std::ifstream file(run / "verify.jsonl");
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) {
    const auto all = nlohmann::json::parse(line);
    rows.push_back({all.at("ids"), all.at("rows")});
  }
  return rows;
}

}  // namespace

TEST_CASE("a run on three groups is killed and resumed, validates on the fields of one, and is replayed") {
  const GroupedRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  CHECK(end_of_killed(place, {}, {15, 35}) == end_of(place.path("whole")));
  CHECK(rows_of(place.path("killed")) == rows_of(place.path("whole")));
  CHECK(metrics_of(place.path("whole"), "val").back().at("loss").get<double>() < 3);
  REQUIRE_EXIT(place.run({"test", "whole"}), 0);
  const auto planned = place.run({"plan", "tiny.toml"});
  REQUIRE_EXIT(planned, 0);
  CHECK_PRINTS(planned, "25 batches of 14 rows (4 labelled, 8 unlabelled, 2 text) an epoch");
  CHECK_PRINTS(planned, "labelled.image u8 16x16x3");
  CHECK_PRINTS(planned, "unlabelled: 8 rows of each batch, 2.222 passes an epoch through its 90");
  REQUIRE_EXIT(place.run({"bench", "tiny.toml", "--seconds", "0.1"}), 0);
  REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", "3", "--out", "rows"}), 0);
  const auto batch = nlohmann::json::parse(flowtrain::testing::read_text(place.path("rows/batch.json")));
  REQUIRE(batch.at("rows").size() == 14);
  CHECK(batch.at("rows")[0].contains("labelled.label"));
  CHECK_FALSE(batch.at("rows")[4].contains("labelled.label"));
  CHECK(batch.at("rows")[4].contains("picture"));
  CHECK(batch.at("rows")[13].contains("text.tokens_length"));
}

TEST_CASE("groups that the processes share equally are trained on in any world") {
  const GroupedRun place;
  for (const int world : {1, 2}) REQUIRE_EXIT(train(place, world, std::to_string(world)), 0);
  CHECK(rows_of(place.path("2")) == rows_of(place.path("1")));
  CHECK(difference(place, "1", "2") < 1e-3);
  check_refused(train(place, 3, "3"), 2,
                {"data.source.0.rows: 4 rows cannot be shared equally by 3 processes, and the loss is a mean over rows",
                 "set it to 3 or 6, or let the loss return its sum and its count"});
}

TEST_CASE("groups whose loss counts its terms need not be shared equally") {
  const GroupedRun place;
  const Words counts{"--set", "step.counts=true"}, text{"--set", "data.source.2.rows=3"};
  REQUIRE_EXIT(train(place, 3, "3", with(counts, text)), 0);
  check_refused(train(place, 3, "refused", counts), 2,
                {"data.source.2.rows: 2 rows cannot be shared equally by 3 processes, each of which needs one at least",
                 "set it to 3"});
}

TEST_CASE("the example of speech of which little has a transcript trains, killed and resumed, and in two processes") {
  std::string config = testing::read_text(test::source_path("examples/semi_supervised_speech/semi_supervised.toml"));
  const std::string own = "plugins = [\"./consistency.so\"]\n";
  config.erase(config.find(own), own.size());
  const TempRun place(with_plugins({"consistency"}, config));
  test::output_of(concat(test::python_command("examples/semi_supervised_speech/draw.py"), " '",
                         place.path("data/semi_supervised_speech").string(), "'"));
  const Words few{
      "--max-iter",       "12",    "--set",          "run.threads=1", "--set",          "val.every=6", "--set",
      "snapshot.every=2", "--set", "verify.every=3", "--set",         "display.every=1"};
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, few)), 0);
  CHECK(end_of_killed(place, few, {4, 9}) == end_of(place.path("whole")));
  const auto last = metrics_of(place.path("whole"), "train").back();
  CHECK(last.at("consistency").get<double>() >= 0);
  CHECK(last.at("certain").get<double>() <= 1);
  const auto heard = place.run({"predict", "whole", "data/semi_supervised_speech/val", "--csv", "-"});
  REQUIRE_EXIT(heard, 0);
  CHECK_PRINTS(heard, ".wav,");
  REQUIRE_EXIT(place.train(with({"--run-dir", "two", "--distributed", "--world-size", "2"}, few)), 0);
  CHECK(rows_of(place.path("two")) == rows_of(place.path("whole")));
}

}  // namespace flowtrain::groups_test
