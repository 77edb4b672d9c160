// Validation and test data whose classes are not training's, and data that changed before a run goes on.

#include <doctest/doctest.h>

#include "tests/program/idx_files.h"
#include "tests/program/picture_files.h"

namespace flowtrain::classes_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A picture of one colour, which a net soon knows.
std::string picture_of(const std::string& animal, int number) {
  Image image;
  image.reshape(16, 16, 3);
  const std::size_t channel = animal == "cat" ? 0 : animal == "dog" ? 1 : 2;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(i % 3 == channel ? 200 + number : 20 + number);
  const auto jpeg = encode_jpeg(image);
  return {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()};
}

void write_animals(const TempFolder& folder, const std::string& split, const Words& animals) {
  for (auto& animal : animals)
    for (int i = 0; i < 8; ++i)
      folder.write("animals/" + split + "/" + animal + "/" + std::to_string(i) + ".jpg", picture_of(animal, i));
}

const Words on_pictures{"--set", "data.dataset=image_folder",
                        "--set", "data.path=animals",
                        "--set", "sampler.size=16",
                        "--set", "sampler.crop=none",
                        "--set", "net.dropout=0",
                        "--set", "val.metrics=[\"accuracy\", \"accuracy_per_class\"]"};

void check_knows_dog_and_emu(const json& scalars) {
  CAPTURE(scalars);
  CHECK(scalars.at("accuracy") == 1.0);
  CHECK(scalars.at("accuracy.dog") == 1.0);
  CHECK(scalars.at("accuracy.emu") == 1.0);
  CHECK(scalars.at("accuracy.cat").is_null());  // there is none
}

}  // namespace

TEST_CASE("a validation set without one of the classes is measured by the names of the others, and tested so") {
  const TempRun place(without_shapes());
  write_animals(place.folder(), "train", {"cat", "dog", "emu"});
  write_animals(place.folder(), "val", {"dog", "emu"});
  const auto trained = place.train(with(on_pictures, {"--run-dir", "run"}));
  REQUIRE_EXIT(trained, 0);
  CHECK_SAYS(trained, "validation data: 2 of the 3 classes, without cat; labels are those of the training data");
  CHECK_SAYS(trained, "  accuracy 1.0000");
  CHECK(trained.err.find("accuracy.") == std::string::npos);  // those of classes are in metrics.jsonl
  CHECK(trained.err.find("nan") == std::string::npos);
  check_knows_dog_and_emu(metrics_of(place.path("run"), "val").back());

  // The net has training's classes, also where the training data is not there.
  fs::rename(place.path("animals/train"), place.path("elsewhere"));
  const auto tested = place.run({"test", "run"});
  REQUIRE_EXIT(tested, 0);
  CHECK_SAYS(tested, "validation data: 2 of the 3 classes, without cat");
  check_knows_dog_and_emu(json::parse(tested.out));
  fs::rename(place.path("elsewhere"), place.path("animals/train"));

  // The same packed; and measured beside training.
  REQUIRE_EXIT(
      place.run(with({"pack", "tiny.toml", "--out", "shards"}, Words(on_pictures.begin(), on_pictures.begin() + 4))),
      0);
  const auto packed = place.train(with(on_pictures, {"--set", "data.dataset=webdataset", "--set", "data.path=shards",
                                                     "--set", "val.mode=async", "--run-dir", "packed"}));
  REQUIRE_EXIT(packed, 0);
  CHECK_SAYS(packed, "validation data: 2 of the 3 classes, without cat");
  check_knows_dog_and_emu(metrics_of(place.path("packed"), "val").back());

  // A class that the net cannot know is no matter of the first validation, but of the start.
  write_animals(place.folder(), "val", {"cow"});
  const auto refused = place.train(with(on_pictures, {"--run-dir", "refused"}));
  CHECK_EXIT(refused, 3);
  CHECK_SAYS(refused,
             "training does not know the class cow (its 3 classes: cow, dog, emu; the 3 of training: cat, dog, emu)");
  CHECK_FALSE(fs::exists(place.path("refused")));
  const auto test_refused = place.run({"test", "run"});
  CHECK_EXIT(test_refused, 3);
  CHECK_SAYS(test_refused, "training does not know the class cow");
}

TEST_CASE("labels of a validation set that training's classes do not hold are an error of the data") {
  const TempRun place(std::string(idx_config) + "[val]\nevery = 10\n");
  write_idx(place.folder());
  std::string labels;
  for (int i = 0; i < 64; ++i) labels += static_cast<char>(i % 5);
  place.folder().write("idx/t10k-labels-idx1-ubyte", idx_bytes(8, {64}, labels));
  const auto refused = place.train();
  CHECK_EXIT(refused, 3);
  CHECK_SAYS(refused, "training does not know the class 4 (its 5 classes: 0, 1, 2, 3, 4; the 4 of training: ");
}

TEST_CASE("data and files that changed since a snapshot are named, and a run goes on only where that is accepted") {
  const TempRun place(without_shapes() + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n");
  fs::copy_file(plugin_file("every_point"), place.path("hook.so"));
  write_animals(place.folder(), "train", {"cat", "dog", "emu"});
  write_animals(place.folder(), "val", {"cat", "dog", "emu"});
  const Words words = with(on_pictures, {"--set", "run.plugins=[\"hook.so\"]", "--run-dir", "run"});
  REQUIRE_EXIT(place.train(with(words, {"--max-iter", "10"})), 0);
  const auto state = json::parse(read_text(fs::canonical(place.path("run/snapshots/latest")) / "state.json"));
  CHECK(state.at("classes") == json({"cat", "dog", "emu"}));
  CHECK(state.at("fingerprints").contains("run.plugins.hook.so"));
  REQUIRE_EXIT(place.train(with(words, {"--max-iter", "12", "--resume", "auto"})), 0);

  // All labels move by one.
  for (const std::string split : {"animals/train", "animals/val"})
    fs::rename(place.path(split + "/cat"), place.path(split + "/zebra"));
  std::ofstream(place.path("hook.so"), std::ios::app | std::ios::binary).put('\0');
  const auto refused = place.train(with(words, {"--max-iter", "14", "--resume", "auto"}));
  CHECK_EXIT(refused, 2);
  for (auto says :
       {"have changed since the snapshot was made: the classes: 3 (dog, emu, zebra), were 3 (cat, dog, emu)",
        "the training data: other files", "the contents of run.plugins.hook.so: hook.so", "--accept-changes"})
    CHECK_SAYS(refused, says);
  CHECK(end_of(place.path("run")).iteration == 12);

  const auto accepted = place.train(with(words, {"--max-iter", "14", "--resume", "auto", "--accept-changes"}));
  CHECK_EXIT(accepted, 0);
  CHECK_SAYS(accepted, "going on although");
  REQUIRE_EXIT(place.train(with(words, {"--max-iter", "16", "--resume", "auto"})), 0);  // it is the run's basis now
}

}  // namespace flowtrain::classes_test
