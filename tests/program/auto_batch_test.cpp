// loader.batch = "auto": the batch that fits is found, said and kept.

#include <doctest/doctest.h>

#include "sampling/core/text.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"

namespace flowtrain::auto_batch_test {
namespace {

const Words auto_config{"--set", "loader.batch=auto"};
// So little that it, not the number of samples, is the limit.
const Words little_config{"--set", "loader.batch=auto", "--set", "loader.batch_memory_mb=1"};

// As the run's config.toml states it.
int batch_of(const fs::path& run) {
  const std::string text = read_text(run / "config.toml"), key = "\nbatch = ";
  const auto at = text.find(key);
  REQUIRE(at != std::string::npos);
  return std::atoi(text.c_str() + at + key.size());
}

}  // namespace

TEST_CASE("a run whose batch was found is the run whose config states it, and is resumed with it") {
  const TempRun place;
  const auto found = place.train(with(little_config, {"--run-dir", "found"}));
  REQUIRE_EXIT(found, 0);
  const int batch = batch_of(place.path("found"));
  CAPTURE(batch);
  CHECK(batch > 4);
  CHECK(batch < 300);
  CHECK_SAYS(found, "batches of " + std::to_string(batch) + " (loader.batch = \"auto\": ");
  CHECK_SAYS(found, " of 1.05 MB");
  CHECK(read_text(place.path("found/train.log")).find("batches of " + std::to_string(batch)) != std::string::npos);
  CHECK(nlohmann::json::parse(read_text(place.path("found/result.json"))).at("batch") == batch);

  const Words stated{"--set", "loader.batch=" + std::to_string(batch), "--run-dir", "stated"};
  REQUIRE_EXIT(place.train(stated), 0);
  CHECK(end_of(place.path("found")) == end_of(place.path("stated")));

  const Words parts = with(little_config, {"--run-dir", "parts"});
  REQUIRE_EXIT(place.train(with(parts, {"--max-iter", "30"})), 0);
  // Whatever would be found now.
  const auto resumed = place.train(
      {"--set", "loader.batch=auto", "--set", "loader.batch_max=9", "--run-dir", "parts", "--resume", "auto"});
  REQUIRE_EXIT(resumed, 0);
  CHECK(resumed.err.find("loader.batch = \"auto\"") == std::string::npos);
  CHECK(batch_of(place.path("parts")) == batch);
  CHECK(end_of(place.path("parts")) == end_of(place.path("stated")));
  REQUIRE_EXIT(place.run({"replay", "parts", "--iter", "30"}), 0);

  const auto taken = place.train(with(little_config, {"--run-dir", "found"}));
  CHECK_EXIT(taken, 2);
  CHECK_SAYS(taken, "already holds a run");
  CHECK(taken.err.find("batches of") == std::string::npos);  // before the search
}

TEST_CASE("more memory takes more rows, up to the limit that is set, and to the samples that there are") {
  const TempRun place;
  const auto found = [&](const Words& more) {
    static int run = 0;
    const std::string name = "run-" + std::to_string(++run);
    REQUIRE_EXIT(place.train(with(with(auto_config, {"--run-dir", name, "--max-iter", "2"}), more)), 0);
    return batch_of(place.path(name));
  };
  const int little = found({"--set", "loader.batch_memory_mb=1"}), twice = found({"--set", "loader.batch_memory_mb=2"});
  CHECK(twice > 1.7 * little);
  CHECK(twice < 2.4 * little);
  // Batches ahead and a net that keeps more leave less.
  CHECK(found({"--set", "loader.batch_memory_mb=1", "--set", "loader.prefetch=40"}) < little);
  CHECK(found({"--set", "loader.batch_memory_mb=1", "--set", "net.hidden=[64]", "--set", "train.accum=2"}) < little);
  // The weights that an overlapped validation looks at are a copy.
  const Words wide{"--set", "loader.batch_memory_mb=2", "--set", "net.hidden=[128]"};
  CHECK(found(with(wide, {"--set", "val.mode=async"})) < found(wide));
  CHECK(found({"--set", "loader.batch_max=24"}) == 24);
  CHECK(found({}) == 300);
}

TEST_CASE("with batches of one source each, the batch that is found leaves one for every source in an epoch") {
  std::string config = tiny_config;
  const std::string one = "[data]\ndataset = \"shapes\"\nsamples = 300\nval_samples = 40\nsize = 16\n";
  REQUIRE(config.find(one) != std::string::npos);
  config.replace(config.find(one), one.size(),
                 "[data]\nbatches = \"one_source\"\n"
                 "[[data.source]]\nname = \"clean\"\ndataset = \"shapes\"\nsamples = 150\nsize = 16\nratio = 3\n"
                 "[[data.source]]\nname = \"noisy\"\ndataset = \"shapes\"\nsamples = 70\nsize = 16\nratio = 1\n"
                 "[data.val]\ndataset = \"shapes\"\nval_samples = 40\nsize = 16\n");
  const TempRun place(config);
  const auto found = place.train(with(auto_config, {"--run-dir", "run", "--max-iter", "2"}));
  REQUIRE_EXIT(found, 0);
  const int batch = batch_of(place.path("run"));
  CAPTURE(batch);
  CHECK(batch >= 70);
  // What is larger by more than the search is fine leaves no batch of the second one.
  CHECK_EXIT(
      place.train({"--run-dir", "more", "--max-iter", "2", "--set", "loader.batch=" + std::to_string(2 * batch)}), 2);
}

TEST_CASE("rows that differ in length are tried as long as the longest sample, which is named") {
  const TempRun place(without_shapes() +
                      "[[field]]\nname = \"image\"\nas = \"image\"\nsize = 16\n"
                      "[[field]]\nname = \"label\"\nas = \"label\"\n"
                      "[[field]]\nname = \"text\"\nfrom = \"text\"\nas = \"bytes\"\n");
  place.folder().write("a.jpg", text_of(encode_jpeg(gradient_picture(16, 16, 3))));
  const auto found = [&](std::size_t longest, int max) {
    std::string table = "image,label,text\n";
    for (int row = 0; row < 300; ++row)
      table += concat("a.jpg,", row % 2, ",", std::string(row == 299 ? longest : 10, 'x'), "\n");
    place.folder().write("list.csv", table);
    const std::string run = concat("run-", longest, "-", max);
    const auto outcome = place.train(
        with(little_config, {"--set", "data.dataset=manifest", "--set", "data.path=list.csv", "--set", "val.every=0",
                             "--set", concat("field.2.max=", max), "--max-iter", "2", "--run-dir", run}));
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, concat("rows are tried as long as the longest sample: text u8 ", longest, "\n"));
    return batch_of(place.path(run));
  };
  const int batch = found(10, 40);
  CHECK(found(10, 4000) == batch);  // the bound alone takes no memory
  CHECK(found(3000, 4000) < batch / 2);
}

TEST_CASE("epochs and rates go by the batch that was found") {
  const TempRun place;
  const Words more{"--set", "loader.batch_max=30",    "--set",     "run.max_epochs=2",
                   "--set", "optim.lr_base_batch=60", "--run-dir", "run"};
  REQUIRE_EXIT(place.train(with(auto_config, more)), 0);
  CHECK(end_of(place.path("run")).iteration == 20);
  CHECK(metrics_of(place.path("run"), "train").back().at("lr").get<double>() == doctest::Approx(0.025));
}

TEST_CASE("where nothing fits, or the word is another, the message names the key and the way out") {
  const TempRun place;
  const auto large = place.train(with(little_config, {"--set", "net.hidden=[2048, 512]"}));
  CHECK_EXIT(large, 2);
  for (auto text : {"--set: loader.batch: no batch fits", "1.05 MB", "loader.batch_memory_mb"}) CHECK_SAYS(large, text);
  CHECK_FALSE(fs::exists(place.path("runs")));

  place.folder().write("word.toml", "base = [\"tiny.toml\"]\n[loader]\nbatch = \"largest\"\n");
  const auto word = place.run({"word.toml"});
  CHECK_EXIT(word, 2);
  for (auto text : {"word.toml:3:1: loader.batch: must be an integer or \"auto\"", "\"largest\""})
    CHECK_SAYS(word, text);
  place.folder().write("both.toml", "base = [\"tiny.toml\"]\n[loader]\nbatch = \"auto\"\nbatch_per_rank = 4\n");
  const auto both = place.run({"both.toml"});
  CHECK_EXIT(both, 2);
  CHECK_SAYS(both, "keep one of the two");
}

TEST_CASE("several processes take the least share that one of them found") {
  const TempRun place;
  const Words several{"--distributed", "--world-size", "2", "--max-iter", "10", "--set", "net.dropout=0.0"};
  const auto found = place.train(with(with(little_config, several), {"--run-dir", "found"}));
  REQUIRE_EXIT(found, 0);
  const int batch = batch_of(place.path("found"));
  CHECK(batch % 2 == 0);
  CHECK_SAYS(found, std::to_string(batch / 2) + " for each of 2 processes");
  REQUIRE_EXIT(place.train(with(several, {"--run-dir", "stated", "--set", "loader.batch=" + std::to_string(batch)})),
               0);
  CHECK(end_of(place.path("found")) == end_of(place.path("stated")));
  REQUIRE_EXIT(place.train(with(with(auto_config, several), {"--run-dir", "all"})), 0);
  CHECK(batch_of(place.path("all")) == 300);
}

TEST_CASE("what does not train leaves the batch open and says so; what trains without a folder looks for it") {
  const TempRun place;
  const auto plan = place.run(with({"plan", "tiny.toml"}, auto_config));
  REQUIRE_EXIT(plan, 0);
  for (auto text :
       {"batches of 64", "loader.batch = \"auto\", which is determined when training starts", "--set loader.batch=N"})
    CHECK_PRINTS(plan, text);
  const auto dry = place.train(with(auto_config, {"--dry-run", "--max-iter", "2"}));
  REQUIRE_EXIT(dry, 0);
  CHECK_SAYS(dry, "batches of 64: loader.batch = \"auto\"");
  for (const Words& words : {Words{"bench", "tiny.toml", "--seconds", "0.1"}, Words{"graph", "tiny.toml"}}) {
    const auto outcome = place.run(with(words, auto_config));
    CHECK_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "batches of 64: loader.batch = \"auto\"");
  }
  // Nothing that these print goes by the batch.
  for (const Words& words : {Words{"info", "tiny.toml"}, Words{"config", "tiny.toml"}})
    CHECK_EXIT(place.run(with(words, auto_config)), 0);
  for (const Words& words : {Words{"tiny.toml", "--fast-dev-run"}, Words{"tiny.toml", "--no-optim", "--max-iter", "2"},
                             Words{"lr-find", "tiny.toml", "--iterations", "10"}}) {
    const auto outcome = place.run(with(words, with(auto_config, {"--set", "loader.batch_max=24"})));
    CHECK_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "batches of 24 (loader.batch = \"auto\"");
  }
  CHECK_FALSE(fs::exists(place.path("runs")));
}

}  // namespace flowtrain::auto_batch_test
