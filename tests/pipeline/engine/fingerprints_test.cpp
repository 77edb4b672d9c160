// A resume compares more than the configuration.

#include "pipeline/engine/session/fingerprints.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::fingerprints_test {
namespace {

using Fingerprints = std::map<std::string, std::string>;

const char* const text = R"(
[data]
dataset = "image_folder"
path = "DIR/p"
[sampler]
size = 8
[run]
seed = 1
plugins = ["DIR/edges.so"]
[order]
name = "weighted"
weights_file = "DIR/weights.txt"
[net]
name = "mlp"
pretrain = "DIR/weights.safetensors"
)";

/// A plugin that may be written to. A process opens one copy: a second one would bring its names again.
const std::filesystem::path& plugin() {
  static const TempFolder folder;
  static const std::filesystem::path path = [] {
    auto copy = folder.path() / "edges.so";
    std::filesystem::copy_file(test::build_path("plugins/edges.so"), copy);
    return copy;
  }();
  return path;
}

struct Place : TempFolder {
  Place() {
    for (const char* name : {"p/train/cat/1.jpg", "p/train/dog/1.jpg", "p/val/cat/1.jpg"}) write(name, "");
    write("weights.txt", "1\n2\n");
    std::filesystem::create_symlink(plugin(), path() / "edges.so");
  }
  Config config() const {
    std::string filled = text;
    for (auto at = filled.find("DIR"); at != filled.npos; at = filled.find("DIR"))
      filled.replace(at, 3, path().string());
    return load_config(write("c.toml", filled));
  }
  RunInputs inputs() const {
    const Config loaded = config();
    const auto training = open_dataset(loaded, true);
    const auto sets = open_validation_sets(validation_set_configs(loaded), {training->classes()}, "cpu", {}, false);
    return {training->size(), training->classes(), {}, fingerprints_of(loaded, *training, sets)};
  }
  void check_same(const RunInputs& before) const { check_inputs(before, inputs(), config(), false); }
};

TEST_CASE("what a run's results depend on is known by its fingerprints, and the same things have the same ones") {
  const Place place, again;
  const auto first = place.inputs();
  for (const char* key : {"data.train", "data.val", "order.weights_file", "run.plugins.edges.so"}) {
    CAPTURE(key);
    REQUIRE(first.fingerprints.contains(key));
    CHECK(first.fingerprints.at(key).size() == 16);
  }
  CHECK_FALSE(first.fingerprints.contains("net.pretrain"));  // it is not there
  CHECK(again.inputs().fingerprints == first.fingerprints);  // wherever it lies
  place.check_same(first);
  place.check_same({});  // an older snapshot says nothing
}

TEST_CASE("a change that breaks exact resume is named, and goes on only where that is accepted") {
  const Place place;
  const auto before = place.inputs();
  const auto refused = [&](const std::string& says) {
    const auto now = place.inputs();
    const auto failure = failure_of([&] { check_inputs(before, now, place.config(), false); });
    check_failure(failure, ExitCode::usage, "have changed since the snapshot was made: ");
    check_failure(failure, ExitCode::usage, says);
    CHECK(failure.hint().find("--accept-changes") != std::string::npos);
    check_inputs(before, now, place.config(), true);
  };
  namespace fs = std::filesystem;
  SUBCASE("a class's name") {
    fs::rename(place.path() / "p/train/cat", place.path() / "p/train/yak");
    fs::rename(place.path() / "p/val/cat", place.path() / "p/val/yak");
    refused("the classes: 2 (dog, yak), were 2 (cat, dog)");
  }
  SUBCASE("a picture's name") {
    fs::rename(place.path() / "p/train/cat/1.jpg", place.path() / "p/train/cat/2.jpg");
    refused("the training data: other files or another order of 2 samples");
  }
  SUBCASE("a picture more") {
    place.write("p/train/cat/2.jpg", "");
    refused("the training data: 3 samples, were 2");
  }
  SUBCASE("the weights of samples") {
    place.write("weights.txt", "1\n3\n");
    refused("the contents of order.weights_file: " + (place.path() / "weights.txt").string());
  }
  SUBCASE("a plugin") {
    std::ofstream(plugin(), std::ios::app | std::ios::binary).put('\0');
    refused("the contents of run.plugins.edges.so: " + (place.path() / "edges.so").string());
  }
}

/// The files that the fields of a configuration name, as they are when this is made: unchanged files are accepted.
class FieldFiles {
 public:
  explicit FieldFiles(Config config) : config_(std::move(config)), before_(now()) { check(); }

  void check_refused(const std::string& says) const {
    check_failure(failure_of([&] { check(); }), ExitCode::usage, says);
  }

 private:
  RunInputs now() const { return {0, {}, {}, fingerprints_of(config_, MemoryDataset({}), {})}; }
  void check() const { check_inputs(before_, now(), config_, false); }

  Config config_;
  RunInputs before_;
};

TEST_CASE("the statistics of features and the files of noises count, too") {
  const TempFolder place;
  place.write("noise/a.wav", "1234");
  const auto statistics = place.write("set.txt", "1\n");
  const FieldFiles files(load_config(place.write(
      "c.toml", concat("[data]\ndataset = \"audio_folder\"\n[net]\nname = \"mlp\"\n[[field]]\nname = \"features\"\n",
                       "from = \"audio\"\nas = \"logmel\"\nnormalise = \"set\"\nstatistics = \"", statistics.string(),
                       "\"\nnoise = \"", (place.path() / "noise").string(), "\"\n"))));
  SUBCASE("statistics") {
    place.write("set.txt", "2\n");
    files.check_refused("the contents of field.0.statistics: ");
  }
  SUBCASE("a noise") {
    place.write("noise/a.wav", "12345");
    files.check_refused("the contents of field.0.noise: ");
  }
}

TEST_CASE("the file of a tokenizer counts, as its ids are the net's") {
  const TempFolder place;
  place.write("texts/a.txt", "a text");
  const auto tokenizer = place.write("own.json", "{}");
  const FieldFiles files(load_config(place.write(
      "c.toml", concat("[data]\ndataset = \"text\"\n[net]\nname = \"gpt2\"\n[[field]]\nname = \"tokens\"\n",
                       "from = \"text\"\nas = \"lm\"\nmax = 8\ntokenizer = \"", tokenizer.string(), "\"\n"))));
  place.write("own.json", "{\"version\": 1}");
  files.check_refused("the contents of field.0.tokenizer: ");
}

TEST_CASE("another plugin in the place of one is a change; another name for the same one is none") {
  const Place place;
  const Config config = place.config();
  const auto of = [](const std::string& name, const std::string& hash) {
    return RunInputs{2, {"cat", "dog"}, {}, {{"run.plugins." + name, hash}}};
  };
  check_inputs(of("a.so", "1"), of("b.so", "1"), config, false);
  const auto failure = failure_of([&] { check_inputs(of("a.so", "1"), of("b.so", "2"), config, false); });
  check_failure(failure, ExitCode::usage, "the plugins: b.so in place of a.so");
}

TEST_CASE("a change that training does not see is no reason to stop") {
  const Place place;
  place.write("weights.safetensors", "one");
  const auto before = place.inputs();
  REQUIRE(before.fingerprints.contains("net.pretrain"));
  place.write("weights.safetensors", "two");
  place.write("p/val/cat/2.jpg", "");
  place.check_same(before);
}

}  // namespace
}  // namespace flowtrain::fingerprints_test
