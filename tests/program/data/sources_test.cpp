// Several data sources, as a user has them.

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tests/program/idx_files.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"

namespace flowtrain::sources_test {
namespace {

using nlohmann::json;

/// tiny_config on two sources: 300 pictures, and 40 with more noise; three to one.
std::string two_sources(const std::string& line = "", const std::string& second = "") {
  std::string text = tiny_config;
  const std::string data = "[data]\ndataset = \"shapes\"\nsamples = 300\nval_samples = 40\nsize = 16\n";
  const std::string sources =
      "[data]\n" + line +
      "[[data.source]]\nname = \"clean\"\ndataset = \"shapes\"\nsamples = 300\nsize = 16\nratio = 3\n"
      "[[data.source]]\nname = \"noisy\"\ndataset = \"shapes\"\nsamples = 40\nsize = 16\nnoise = 0.4\nseed = 5\nratio "
      "= 1\n" +
      second + "[data.val]\ndataset = \"shapes\"\nval_samples = 40\nsize = 16\n";
  return text.replace(text.find(data), data.size(), sources);
}

/// How many rows of a replayed batch are of a source.
std::ptrdiff_t rows_of(const json& batch, const std::string& source) {
  const auto& rows = batch.at("rows");
  return std::count_if(rows.begin(), rows.end(), [&](auto& row) {
    return row.at("source").template get<std::string>().starts_with(source + ": ");
  });
}

/// Of each batch what the hook of tests has written: its iteration, then record and source of each row.
struct Rows {
  std::uint64_t iteration = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> rows = {};
  bool operator==(const Rows&) const = default;
};

std::vector<Rows> rows_in(const std::filesystem::path& path) {
  std::vector<Rows> batches;
  std::istringstream lines(read_text(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Rows& batch = batches.emplace_back();
    words >> batch.iteration;
    char colon;
    for (std::pair<std::uint64_t, std::int64_t> row; words >> row.first >> colon >> row.second;)
      batch.rows.push_back(row);
  }
  return batches;
}

/// With the hook that writes down a batch's rows.
std::string with_row_writer(const std::string& config) {
  return with_plugins({"every_point"}, config + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n");
}

Words rows_to(const std::string& file) { return {"--set", "hook.0.rows=" + file, "--run-dir", "run-" + file}; }

json replayed(const TempRun& place, int iteration, Words more = {}) {
  const auto folder = "batch-" + std::to_string(iteration);
  REQUIRE_EXIT(place.run(with({"replay", "tiny.toml", "--iter", std::to_string(iteration), "--out", folder}, more)), 0);
  return json::parse(read_text(place.path(folder) / "batch.json"));
}

}  // namespace

TEST_CASE("several sources: neither workers, nor a stop in between, nor kept pictures show in what a run ends with") {
  const TempRun place(two_sources());
  const auto first = place.train({"--run-dir", "first", "--workers", "1"});
  REQUIRE_EXIT(first, 0);
  CHECK_SAYS(first,
             "data: 2 sources: clean 300 samples (ratio 0.75), noisy 40 (ratio 0.25) in 6 classes, 40 for validation; "
             "an epoch = 25 batches of 16 (longest)");
  const auto end = end_of(place.path("first"));
  CHECK(end.iteration == 60);
  REQUIRE_EXIT(place.train({"--run-dir", "second", "--workers", "3", "--set", "loader.prefetch=8"}), 0);
  CHECK(end_of(place.path("second")) == end);
  REQUIRE_EXIT(place.train({"--run-dir", "third", "--max-iter", "31"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "third", "--resume", "auto"}), 0);
  CHECK(end_of(place.path("third")) == end);
  REQUIRE_EXIT(place.train({"--run-dir", "fourth", "--set", "loader.cache_mb=8"}), 0);
  CHECK(end_of(place.path("fourth")).order == end.order);

  const auto changed =
      place.train({"--run-dir", "third", "--resume", "auto", "--max-iter", "70", "--set", "data.source.1.ratio=2"});
  CHECK_EXIT(changed, 2);
  CHECK_SAYS(changed, "data.source.1.ratio");
  CHECK_EXIT(place.run({"test", "first"}), 0);
}

TEST_CASE("several sources: two processes see together what one sees") {
  const TempRun place(two_sources());
  for (int processes : {1, 2})
    REQUIRE_EXIT(train(place, processes, "by-" + std::to_string(processes), {"--max-iter", "30"}), 0);
  CHECK(end_of(place.path("by-1")).order == end_of(place.path("by-2")).order);
}

TEST_CASE(
    "several sources: a step knows of each row which one it is of, whatever the workers, after a resume, and in two "
    "processes") {
  const TempRun place(with_row_writer(two_sources()));
  REQUIRE_EXIT(place.train(rows_to("whole")), 0);
  const auto whole = rows_in(place.path("whole.0"));
  REQUIRE(whole.size() == 60);
  for (auto& batch : whole) {
    REQUIRE(batch.rows.size() == 16);
    std::ptrdiff_t noisy = 0;
    for (auto& [id, source] : batch.rows) {
      CHECK(source == (id < 300 ? 0 : 1));
      noisy += source;
    }
    CHECK(noisy == 4);
  }
  REQUIRE_EXIT(place.train(with(rows_to("parts"), {"--max-iter", "31", "--workers", "1"})), 0);
  REQUIRE_EXIT(place.train(with(rows_to("parts"), {"--resume", "auto", "--workers", "3"})), 0);
  CHECK(rows_in(place.path("parts.0")) == whole);

  const auto batch = replayed(place, 7);
  for (std::size_t row = 0; row < 16; ++row) {
    const auto& [id, source] = whole[6].rows[row];
    CHECK(batch.at("rows").at(row).at("id") == id);
    CHECK(batch.at("rows").at(row).at("source_index") == source);
    CHECK(batch.at("rows").at(row).at("source").get<std::string>().starts_with(source == 0 ? "clean: " : "noisy: "));
  }

  REQUIRE_EXIT(place.train(with(rows_to("two"), {"--max-iter", "10", "--distributed", "--world-size", "2"})), 0);
  auto together = rows_in(place.path("two.0"));
  const auto second = rows_in(place.path("two.1"));
  REQUIRE(together.size() == 10);
  REQUIRE(second.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    together[i].rows.insert(together[i].rows.end(), second[i].rows.begin(), second[i].rows.end());
    CHECK(together[i] == whole[i]);
  }
}

TEST_CASE("several sources: rows that are copied in blocks know theirs, and one data set has no such field") {
  std::string text = idx_config;
  const std::string data = "[data]\ndataset = \"idx\"\npath = \"idx\"\n";
  const std::string sources =
      "[data]\nmax_bad = 5\n[[data.source]]\ndataset = \"idx\"\npath = \"idx\"\n"
      "[[data.source]]\nname = \"drawn\"\ndataset = \"idx\"\npath = \"idx\"\n"
      "[data.val]\ndataset = \"idx\"\npath = \"idx\"\n";
  const TempRun place(with_row_writer(text.replace(text.find(data), data.size(), sources)));
  write_idx(place.folder());
  REQUIRE_EXIT(place.train(with(rows_to("drawn"), {"--max-iter", "5"})), 0);
  const auto drawn = rows_in(place.path("drawn.0"));
  REQUIRE(drawn.size() == 5);
  std::int64_t of_second = 0;
  for (auto& batch : drawn)
    for (auto& [id, source] : batch.rows) {
      CHECK(source == (id < 64 ? 0 : 1));
      of_second += source;
    }
  CHECK(of_second > 0);
  REQUIRE_EXIT(place.train(with(rows_to("copied"), {"--max-iter", "5", "--set", "sampler.name=copy"})), 0);
  CHECK(rows_in(place.path("copied.0")) == drawn);

  const TempRun one(with_row_writer(tiny_config));
  REQUIRE_EXIT(one.train(with(rows_to("one"), {"--max-iter", "5"})), 0);
  CHECK(read_text(one.path("one.0")).find(':') == std::string::npos);
}

TEST_CASE("several sources: each batch has its share of each, and one batch can be of one") {
  const TempRun place(two_sources());
  for (int iteration : {1, 2, 25, 26, 60}) {
    const auto batch = replayed(place, iteration);
    CHECK(rows_of(batch, "clean") == 12);
    CHECK(rows_of(batch, "noisy") == 4);
  }
  int noisy = 0;
  for (int iteration = 1; iteration <= 8; ++iteration) {
    const auto rows = rows_of(replayed(place, iteration, {"--set", "data.batches=one_source"}), "noisy");
    CHECK((rows == 0 || rows == 16));
    noisy += rows == 16;
  }
  CHECK(noisy == 2);
  REQUIRE_EXIT(place.train({"--set", "data.batches=one_source"}), 0);
}

TEST_CASE("several sources: plan, bench and dry runs") {
  const TempRun place(two_sources());
  const auto plan = place.run({"plan", "tiny.toml"});
  REQUIRE_EXIT(plan, 0);
  CHECK_PRINTS(plan, "340 samples, 25 batches of 16 an epoch");
  CHECK_PRINTS(plan, "clean: 300 of an epoch's samples (ratio 0.75), 1 passes through its 300");
  CHECK_PRINTS(plan, "noisy: 100 of an epoch's samples (ratio 0.25), 2.5 passes through its 40");
  const auto shortest = place.run({"plan", "tiny.toml", "--set", "data.epoch=shortest"});
  CHECK_PRINTS(shortest, "10 batches of 16 an epoch");
  const auto counted = place.run({"plan", "tiny.toml", "--set", "data.epoch=7"});
  CHECK_PRINTS(counted, "7 batches of 16 an epoch");
  CHECK_PRINTS(counted, "clean: 84 of an epoch's samples");
  const auto by_size =
      place.run({"plan", "tiny.toml", "--set", "data.source.0.ratio=0", "--set", "data.source.1.ratio=0"});
  CHECK_PRINTS(by_size, "noisy: 40 of an epoch's samples (ratio 0.1176), 1 passes");
  CHECK_EXIT(place.run({"bench", "tiny.toml", "--seconds", "0.2"}), 0);
  CHECK_EXIT(place.train({"--dry-run"}), 0);
  CHECK_EXIT(place.train({"--overfit", "16", "--max-iter", "5"}), 0);
  CHECK_EXIT(place.run({"graph", "tiny.toml"}), 0);
}

TEST_CASE("several sources: an order of its own for one, and class by class") {
  const TempRun place(two_sources("", "order = \"class_balanced\"\n"));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "other", "--set", "order.name=block_shuffle", "--workers", "4"}), 0);
  CHECK(end_of(place.path("run")).order != end_of(place.path("other")).order);
}

TEST_CASE("several sources that do not go together are refused with where they stand") {
  const TempRun place(two_sources());
  const auto classes = place.train({"--set", "data.source.1.classes=4"});
  CHECK_EXIT(classes, 3);
  CHECK_SAYS(classes, "data.source.1.dataset: the classes differ from those of data.source.0 (clean, tiny.toml:");
  CHECK_SAYS(classes, "4 classes, not 6");
  const auto size = place.train({"--set", "data.source.1.size=20"});
  CHECK_EXIT(size, 2);
  CHECK_SAYS(size, "the sampler makes other rows of it (image u8 20x20x3");
  CHECK_EXIT(place.train({"--set", "data.source.1.size=20", "--set", "sampler.size=16"}), 0);
  const auto none = place.train({"--set", "data.epoch=1", "--set", "data.source.1.ratio=0.001"});
  CHECK_EXIT(none, 2);
  CHECK_SAYS(none, "data.source.1.ratio: an epoch of samples has none of noisy");
}

TEST_CASE("several sources: a damaged record is named with its source") {
  const std::string one = "dataset = \"image_folder\"\npath = \"pictures\"\n";
  std::string text = without_shapes();
  const std::string data = "[data]\ndataset = \"shapes\"\n";
  const std::string sources = "[[data.source]]\nname = \"left\"\n" + one + "[[data.source]]\nname = \"right\"\n" + one;
  text.replace(text.find(data), data.size(), "[data]\nmax_bad = 5\n" + sources);
  const TempRun place(with_row_writer(text));
  write_pictures(place.folder());
  const auto outcome = place.train({"--set", "sampler.size=16", "--set", "val.every=0", "--max-iter", "10", "--run-dir",
                                    "run", "--set", "hook.0.rows=rows"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "left: ");
  CHECK_SAYS(outcome, "right: ");
  const auto batches = rows_in(place.path("rows.0"));
  REQUIRE(batches.size() == 10);
  for (auto& batch : batches)  // of what took a damaged record's place, too
    for (auto& [id, source] : batch.rows) CHECK(source == (id < 24 ? 0 : 1));
  REQUIRE_EXIT(place.train({"--set", "sampler.size=16", "--set", "val.every=0", "--max-iter", "10", "--run-dir",
                            "again", "--workers", "1"}),
               0);
  CHECK(end_of(place.path("again")) == end_of(place.path("run")));
  const auto refused = place.run({"test", "run"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "data.val.dataset: must be given");
}

TEST_CASE("several sources: packing takes every record once") {
  std::string text = idx_config;
  const std::string data = "[data]\ndataset = \"idx\"\npath = \"idx\"\n";
  const std::string sources =
      "[data]\nmax_bad = 5\n[[data.source]]\ndataset = \"idx\"\npath = \"idx\"\n"
      "[[data.source]]\nname = \"drawn\"\ndataset = \"idx\"\npath = \"idx\"\nratio = 0\n"
      "[data.val]\ndataset = \"idx\"\npath = \"idx\"\n";
  const TempRun place(text.replace(text.find(data), data.size(), sources));
  write_idx(place.folder());
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "packed"}), 0);
  const auto packed = place.train({"--run-dir", "from-packed", "--set", "data.dataset=webdataset", "--set",
                                   "data.path=packed", "--set", "sampler.size=8", "--set", "sampler.channels=1"});
  REQUIRE_EXIT(packed, 0);
  CHECK_SAYS(packed, "data: 128 samples in 4 classes; ");
}

}  // namespace flowtrain::sources_test
