// Data without a validation split: what is held out of it, and what is said of that.

#include <doctest/doctest.h>

#include <set>

#include "tests/program/picture_files.h"
#include "tests/program/refusals.h"

namespace flowtrain::val_share_test {
namespace {

namespace fs = std::filesystem;

void write_animals(const TempFolder& folder, const std::string& stem, int number) {
  const auto jpeg = encode_jpeg(gradient_picture(16, 16, 3));
  for (const std::string animal : {"cat", "dog"})
    for (int i = 0; i < number; ++i)
      folder.write("animals/" + animal + "/" + stem + std::to_string(i) + ".jpg",
                   {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
}

const Words on_animals{"--set", "data.dataset=image_folder", "--set", "data.path=animals", "--set", "sampler.size=16"};
const std::string split_file = "animals/val_share-0.1.tsv";

/// The lines of a split's file.
std::set<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(file);
  std::set<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

}  // namespace

TEST_CASE("without a validation split a tenth of each class is held out, and stays so when pictures are added") {
  const TempRun place(without_shapes());
  write_animals(place.folder(), "", 60);
  const auto first = place.train(on_animals);
  REQUIRE_EXIT(first, 0);
  CHECK_SAYS(first,
             "validation: 10 % of the samples of each class are held out of the training data (data.val_share, as the "
             "data has no validation split; 0 turns that off): 108 to train on, 12 to validate on; animals/"
             "val_share-0.1.tsv keeps which");
  CHECK_SAYS(first, "data: 108 samples in 2 classes, 12 for validation");
  const auto before = lines_of(place.path(split_file));

  write_animals(place.folder(), "new", 25);
  const auto second = place.train(on_animals);
  REQUIRE_EXIT(second, 0);
  CHECK_SAYS(second, "153 to train on, 17 to validate on");  // of 85 in each class 8.5, rounded
  auto after = lines_of(place.path(split_file));
  for (auto& line : before)
    if (!line.starts_with("samples")) CHECK(after.contains(line));

  // Other commands see the same samples, and write nothing.
  const auto tested = place.run({"test", "runs/tiny-2"});
  REQUIRE_EXIT(tested, 0);
  CHECK(lines_of(place.path(split_file)) == after);
}

TEST_CASE(
    "the first lines say which folder trains, validates and tests, and where names are unclear the key is named") {
  const TempRun place(without_shapes());
  const auto jpeg = text_of(encode_jpeg(gradient_picture(16, 16, 3)));
  const auto write = [&](const std::string& folder, int number) {
    for (int i = 0; i < number; ++i) place.folder().write(folder + "/" + std::to_string(i) + ".jpg", jpeg);
  };
  for (const std::string animal : {"cat", "dog"}) {
    write("pets/Train/" + animal, 20);
    write("pets/valid/" + animal, 4);
    write("pets/test/" + animal, 3);
  }
  const auto on = [](const std::string& path) {
    return Words{"--set", "data.dataset=image_folder", "--set", "data.path=" + path, "--set", "sampler.size=16"};
  };
  const auto split = place.train(on("pets"));
  REQUIRE_EXIT(split, 0);
  CHECK_SAYS(split, "training data: pets/Train (40 samples, 2 classes)");
  CHECK_SAYS(split, "validation data: pets/valid (8 samples, 2 classes)");
  CHECK_SAYS(split,
             "test data: pets/test (6 images); the run does not use it, `flowtrain test` does with "
             "data.test.split = \"test\"");
  const auto tested = place.run({"test", "runs/tiny", "--set", "data.test.split=test"});
  REQUIRE_EXIT(tested, 0);
  CHECK_SAYS(tested, "test data: pets/test (6 samples, 2 classes)");

  for (const char* vehicle : {"bus", "car", "train", "truck"}) write(std::string("vehicles/") + vehicle, 10);
  check_refused(place.train(on("vehicles")), 3,
                {"train may be a split, or a class as are bus, car, truck", "data.split_names = \"ignore\""});
  const auto four = place.train(with(on("vehicles"), {"--set", "data.split_names=ignore"}));
  REQUIRE_EXIT(four, 0);
  CHECK_SAYS(four, "training data: vehicles (40 samples, 4 classes)");
  check_refused(place.train({"--set", "data.path=caf\xe9"}), 2, {"data.path=caf\\xE9", "UTF-8"});
}

TEST_CASE("classes whose folders' names are not UTF-8 are called the same by all commands") {
  const TempRun place(without_shapes());
  const auto jpeg = text_of(encode_jpeg(gradient_picture(16, 16, 3)));
  for (const std::string split : {"train", "val"})
    for (const std::string name : {"caf\xe9", "th\xe9", "water"})
      for (int i = 0; i < 8; ++i)
        place.folder().write("drinks/" + split + "/" + name + "/\xe8" + std::to_string(i) + ".jpg", jpeg);
  const auto trained = place.train({"--set", "data.dataset=image_folder", "--set", "data.path=drinks", "--set",
                                    "sampler.size=16", "--set", "val.metrics=[\"accuracy\", \"accuracy_per_class\"]"});
  REQUIRE_EXIT(trained, 0);
  CHECK(read_text(place.path("runs/tiny/metrics.jsonl")).find("caf\\\\xE9") != std::string::npos);
  REQUIRE_EXIT(place.run({"test", "runs/tiny"}), 0);
  REQUIRE_EXIT(place.run({"replay", "runs/tiny", "--iter", "2", "--out", "replayed"}), 0);
  CHECK(read_text(place.path("replayed/batch.json")).find("\\\\xE8") != std::string::npos);
  REQUIRE_EXIT(place.run({"export", "runs/tiny", "--out", "net.pt"}), 0);
  const auto predicted = place.run({"predict", "runs/tiny", "drinks/val", "--csv", "-"});
  REQUIRE_EXIT(predicted, 0);
  CHECK(predicted.out.find("drinks/val/caf\\xE9/\\xE80.jpg,1,") != std::string::npos);
}

TEST_CASE("a small set may have ten bad samples, which are listed; one more ends the run") {
  const TempRun place(without_shapes());
  write_animals(place.folder(), "", 91);
  const auto damage = [&](int first, int last) {
    for (int i = first; i <= last; ++i) place.folder().write("animals/cat/" + std::to_string(i) + ".jpg", "no picture");
  };
  const Words whole = with(on_animals, {"--set", "data.val_share=0", "--set", "val.every=0", "--max-iter", "30"});
  damage(0, 9);
  const auto ten = place.train(with(whole, {"--run-dir", "ten"}));
  REQUIRE_EXIT(ten, 0);
  CHECK(lines_of(place.path("ten/bad_samples.jsonl")).size() == 10);
  damage(10, 10);
  check_refused(place.train(with(whole, {"--run-dir", "eleven"})), 3, {"data.max_bad"});
}

TEST_CASE("a run's folder is named from anywhere: its paths lead from where it was started") {
  const TempRun place(without_shapes());
  write_animals(place.folder(), "", 20);
  REQUIRE_EXIT(place.train(with(on_animals, {"--run-dir", "runs/x"})), 0);
  auto elsewhere = place.process_options();
  elsewhere.folder = place.path("animals/cat");
  REQUIRE_EXIT(run_program({"test", "../../runs/x"}, elsewhere), 0);
  REQUIRE_EXIT(
      run_program({"snapshot", "average", "../../runs/x", "../../runs/x", "--out", "../../runs/mean"}, elsewhere), 0);
  elsewhere.folder = place.path("animals/dog");
  REQUIRE_EXIT(run_program({"test", "../../runs/mean"}, elsewhere), 0);
}

TEST_CASE("val_share says how many; 0 turns it off, which is warned of") {
  const TempRun place(without_shapes());
  write_animals(place.folder(), "", 20);
  const auto off = place.train(with(on_animals, {"--set", "data.val_share=0"}));
  REQUIRE_EXIT(off, 0);
  CHECK_SAYS(off, "[data.val] has the samples that are trained on");
  CHECK_FALSE(fs::exists(place.path("animals/val_share-0.1.tsv")));
  const auto half = place.train(with(on_animals, {"--set", "data.val_share=0.5"}));
  REQUIRE_EXIT(half, 0);
  CHECK_SAYS(half, "data: 20 samples in 2 classes, 20 for validation");
  // Nothing is held out for validations that there are none of.
  const auto none = place.train(with(on_animals, {"--set", "val.every=0"}));
  REQUIRE_EXIT(none, 0);
  CHECK_SAYS(none, "data: 40 samples in 2 classes;");
  const auto again = place.train(with(on_animals, {"--set", "data.val_share=0.5", "--resume", "auto"}));
  check_refused(again, 2, {"data.val_share"});
}

TEST_CASE("val_share takes from the training split, and refuses validation data beside it") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  const Words words{"--set", "data.dataset=image_folder", "--set", "data.path=pictures",
                    "--set", "sampler.size=16",           "--set", "data.val_share=0.25"};
  const auto shared = place.train(words);
  REQUIRE_EXIT(shared, 0);
  CHECK_SAYS(shared, "data: 18 samples in 2 classes, 6 for validation");
  check_refused(place.train(with(words, {"--set", "data.val.split=val"})), 2,
                {"data.val_share", "data.val.split is given, too"});
  check_refused(place.train(with(words, {"--set", "data.val.val_share=0.5"})), 2, {"set it in [data]"});
  const auto cheats = place.train({"--set", "data.dataset=image_folder", "--set", "data.path=pictures", "--set",
                                   "sampler.size=16", "--set", "data.val.split=train"});
  REQUIRE_EXIT(cheats, 0);
  CHECK_SAYS(cheats, "[data.val] has the samples that are trained on");
}

}  // namespace flowtrain::val_share_test
