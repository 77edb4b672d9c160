// The classes of validation sets, and a validation's report of bad samples.

#include "pipeline/engine/session/validation_data.h"

#include <doctest/doctest.h>

#include "pipeline/engine/session/pixel_form.h"
#include "pipeline/engine/validation/validation.h"
#include "sampling/core/error.h"
#include "sampling/core/registry.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"
#include "tests/support/pictures.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::validation_data_test {
namespace {

using Texts = std::vector<std::string>;
using Labels = std::vector<std::int64_t>;
using testing::FakeDataset;
using testing::FakeOrder;
using testing::FakeSampler;

const std::string folders = "[data]\ndataset = \"image_folder\"\npath = \"DIR/p\"\n[sampler]\nsize = 8\n";
const std::string shards = "[data]\ndataset = \"webdataset\"\npath = \"DIR/p\"\n[sampler]\nsize = 8\n";

/// Data to train and validate on, below p/ of a folder that the configuration calls DIR.
struct DataFolder : TempFolder {
  void pictures(const Texts& names) const {
    for (auto& name : names) write("p/" + name, "no picture");
  }
  void shard(const std::string& split, const Labels& labels, const std::string& classes = {}) const {
    TarBytes bytes;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto key = std::to_string(i);
      bytes.entry(key + ".cls", std::to_string(labels[i])).entry(key + ".jpg", "no picture");
    }
    write("p/" + split + "/s.tar", bytes.end());
    if (!classes.empty()) write("p/" + split + "/classes.txt", classes);
  }
  Config config(std::string text) const {
    for (auto at = text.find("DIR"); at != text.npos; at = text.find("DIR")) text.replace(at, 3, path().string());
    return load_config(write("c.toml", text + "[run]\nseed = 1\n[val]\nevery = 1\n"));
  }
  ValidationSets sets(const std::string& text) const {
    const Config loaded = config(text);
    const auto training = open_training_data(loaded, "cpu");
    const LearntData learnt{training.dataset->classes(), record_form(learnt_pixels(loaded, *training.dataset))};
    auto sets = open_validation_sets(validation_set_configs(loaded), learnt, "cpu", {}, true);
    check_rows(sets, training.sampler.get());
    return sets;
  }
};

Labels labels_of(const ValidationData& set) {
  Labels labels;
  for (std::uint64_t id = 0; id < set.data.dataset->size(); ++id) {
    ReadBuffer buffer;
    labels.push_back(set.data.dataset->label(id));
    CHECK(set.data.dataset->read(id, buffer).label == labels.back());
  }
  return labels;
}

TEST_CASE("a validation set that lacks a class has training's labels, by the classes' names") {
  const DataFolder place;
  place.pictures({"train/cat/1.jpg", "train/dog/1.jpg", "train/emu/1.jpg", "val/dog/1.jpg", "val/emu/1.jpg",
                  "val/emu/2.jpg", "night/emu/1.jpg"});
  const auto sets = place.sets(folders + "[[val.set]]\nname = \"night\"\nsplit = \"night\"\n");
  REQUIRE(sets.size() == 2);
  CHECK(labels_of(*sets[0]) == Labels{1, 2, 2});
  CHECK(labels_of(*sets[1]) == Labels{2});
  for (auto& set : sets) CHECK(set->data.dataset->classes() == Texts{"cat", "dog", "emu"});
  CHECK(sets[0]->data.dataset->describe(0).ends_with("val/dog/1.jpg"));
}

TEST_CASE("pictures of validation become rows as those of training do, however they are stored") {
  const DataFolder place;
  const auto picture = encode_jpeg(gradient_picture(24, 20, 3));
  for (const char* name : {"circle", "square", "triangle", "cross", "ring", "star"})
    place.write(std::string("p/val/") + name + "/1.jpg",
                {reinterpret_cast<const char*>(picture.data()), picture.size()});
  const std::string shapes = "[data.train]\ndataset = \"shapes\"\nsamples = 12\nsize = 16\n",
                    files = "[data.val]\ndataset = \"image_folder\"\npath = \"DIR/p\"\nsplit = \"val\"\n",
                    others = "[data.val]\ndataset = \"shapes\"\nval_samples = 12\nsize = 12\n";
  for (auto& validation : {files, others}) {
    const Field field = place.sets(shapes + validation).front()->data.sampler->fields().front();
    CHECK(field.shape == Labels{16, 16, 3});
    CHECK(field.mean == std::vector{0.5, 0.5, 0.5});
    CHECK(field.stddev == std::vector{0.5, 0.5, 0.5});
  }
  const Field given = place.sets(shapes + files + "[sampler]\nsize = 8\nmean = [0.1, 0.2, 0.3]\nstddev = [1, 1, 1]\n")
                          .front()
                          ->data.sampler->fields()
                          .front();
  CHECK(given.shape == Labels{8, 8, 3});
  CHECK(given.mean == std::vector{0.1, 0.2, 0.3});
}

TEST_CASE("pictures that the sampler cannot make rows of one form of are refused at the start") {
  const DataFolder place;
  const auto refused = failure_of([&] {
    place.sets(
        "[data.train]\ndataset = \"shapes\"\nsize = 16\n[data.val]\ndataset = \"shapes\"\nsize = 12\n"
        "[sampler]\nname = \"copy\"\n");
  });
  check_failure(refused, ExitCode::data, "dataset: these are pictures of 12x12 with 3 channels");
  check_failure(refused, ExitCode::data, "the training data are pictures of 16x16 with 3 channels");
}

TEST_CASE("a class that training does not know is an error of the data, with both lists") {
  const DataFolder place;
  place.pictures({"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/1.jpg", "val/dog/1.jpg", "night/cow/1.jpg"});
  const auto failure = failure_of([&] { place.sets(folders + "[[val.set]]\nname = \"night\"\nsplit = \"night\"\n"); });
  check_failure(failure, ExitCode::data,
                "training does not know the class cow (its 1 classes: cow; the 2 of training: ");
  check_failure(failure, ExitCode::data, "cat, dog)");
  check_failure(failure, ExitCode::data, "val.set");
  place.pictures({"val/fox/1.jpg"});
  check_failure(failure_of([&] { place.sets(folders); }), ExitCode::data,
                "the class fox (its 3 classes: cat, dog, fox;");
}

TEST_CASE("shards are held against training's by the names of classes.txt, or else by labels") {
  SUBCASE("named") {
    const DataFolder place;
    place.shard("train", {0, 1, 2}, "cat\ndog\nemu\n");
    place.shard("val", {0, 1}, "dog\nemu\n");
    CHECK(labels_of(*place.sets(shards)[0]) == Labels{1, 2});
  }
  SUBCASE("of other names") {
    const DataFolder place;
    place.shard("train", {0, 1}, "cat\ndog\n");
    place.shard("val", {0, 1}, "dog\nemu\n");
    check_failure(failure_of([&] { place.sets(shards); }), ExitCode::data, "training does not know the class emu");
  }
  SUBCASE("counted") {
    const DataFolder place;
    place.shard("train", {0, 1, 2});
    place.shard("val", {1, 0});
    const auto sets = place.sets(shards);
    CHECK(labels_of(*sets[0]) == Labels{1, 0});
    CHECK(sets[0]->data.dataset->classes() == Texts{"0", "1", "2"});
  }
  SUBCASE("of more classes") {
    const DataFolder place;
    place.shard("train", {0, 1, 2});
    place.shard("val", {3});
    check_failure(failure_of([&] { place.sets(shards); }), ExitCode::data, "training does not know the class 3");
  }
}

TEST_CASE("labels of a table are those of training's classes that are called by numbers") {
  const DataFolder place;
  const auto table = [&](const std::string& name, const Texts& labels) {
    std::string text = "image,label\n";
    for (auto& label : labels) text += "a.jpg," + label + "\n";
    place.write(name, text);
  };
  const std::string tables = "[data]\ndataset = \"manifest\"\npath = \"DIR/t\"\n[sampler]\nsize = 8\n";
  for (const auto* picture : {"a.jpg", "t/a.jpg"}) place.write(picture, "no picture");
  SUBCASE("beside texts") {
    table("t/train.csv", {"1", "2", "x"});
    table("t/val.csv", {"1", "2", "2"});
    const auto sets = place.sets(tables);
    CHECK(labels_of(*sets[0]) == Labels{0, 1, 1});
    CHECK(sets[0]->data.dataset->classes() == Texts{"1", "2", "x"});
    table("t/val.csv", {"1", "0"});
    check_failure(failure_of([&] { place.sets(tables); }), ExitCode::data, "training does not know the class 0 (");
  }
  SUBCASE("of folders") {
    place.pictures({"1/a.jpg", "2/a.jpg", "3/a.jpg"});
    table("v.csv", {"1", "2"});
    const auto sets = place.sets(
        "[data]\ndataset = \"image_folder\"\npath = \"DIR/p\"\n[sampler]\nsize = 8\n"
        "[data.val]\ndataset = \"manifest\"\npath = \"DIR/v.csv\"\n");
    CHECK(labels_of(*sets[0]) == Labels{0, 1});
  }
  SUBCASE("not those of names by their alphabet") {
    table("t/train.csv", {"0", "1"});
    table("t/val.csv", {"cat", "dog"});
    check_failure(failure_of([&] { place.sets(tables); }), ExitCode::data,
                  "(its 2 classes: cat, dog; the 2 of training: 0, 1)");
  }
  SUBCASE("also where the configuration names them") {
    table("t/train.csv", {"3", "1", "2"});
    table("t/val.csv", {"1", "2"});
    auto named = tables;
    named.insert(named.find("[sampler]"), "class_names = [\"1\", \"2\", \"3\"]\n");
    CHECK(labels_of(*place.sets(named)[0]) == Labels{0, 1});
    table("t/train.csv", {"0", "1", "2"});
    check_failure(failure_of([&] { place.sets(named); }), ExitCode::data, "'0' is no class of data.class_names");
  }
}

TEST_CASE("lists of classes are refused where a validation set has its classes in other places") {
  const DataFolder place;
  const std::string tables =
      "[data]\ndataset = \"manifest\"\npath = \"DIR/t\"\n"
      "[[field]]\nname = \"kinds\"\nfrom = \"labels\"\nas = \"labels\"\n";
  place.write("t/train.csv", "text,labels\nx,a;b\ny,c\n");
  place.write("t/val.csv", "text,labels\nx,a\ny,b\n");
  CHECK(place.sets(tables)[0]->data.dataset->classes() == Texts{"a", "b", "c"});
  place.write("t/val.csv", "text,labels\nx,c\ny,b\n");
  check_failure(failure_of([&] { place.sets(tables); }), ExitCode::data,
                "but the field 'kinds' is made from lists of their indices");
  auto named = tables;
  named.insert(named.find("[[field]]"), "class_names = [\"a\", \"b\", \"c\"]\n");
  CHECK(place.sets(named)[0]->data.dataset->classes() == Texts{"a", "b", "c"});
}

TEST_CASE("what a validation table cannot be used for is told with its path") {
  const DataFolder place;
  place.write("t/train.csv", "text,label\nhello,a\n");
  place.write("t/val.csv", "text,label\n12,a\n");
  const auto failure = failure_of([&] {
    place.sets(
        "[data]\ndataset = \"manifest\"\npath = \"DIR/t\"\n"
        "[[field]]\nname = \"tokens\"\nfrom = \"text\"\nas = \"tokens\"\nmax = 8\n");
  });
  CHECK(std::string(failure.what()).starts_with((place.path() / "t/val.csv").string() + ": "));
  check_failure(failure, ExitCode::usage, "the part 'text' is of ");
  CHECK(failure.hint().ends_with("put quotes around the numbers"));
}

TEST_CASE("boxes of a validation set have training's labels as well") {
  const DataFolder place;
  const auto training = place.config("[data]\ndataset = \"shapes\"\nsamples = 20\n[data.val]\nclasses = 2\n");
  const Texts learnt{"square", "star", "circle"};
  const auto sets = open_validation_sets(validation_set_configs(training), {learnt}, "cpu", {}, false);
  const auto own = open_dataset(training, false);
  REQUIRE(own->classes() == Texts{"circle", "square"});
  ReadBuffer buffer, other;
  for (std::uint64_t id = 0; id < own->size(); ++id) {
    const auto stored = own->read(id, buffer), seen = sets[0]->data.dataset->read(id, other);
    CHECK(seen.label == (stored.label == 0 ? 2 : 0));
    REQUIRE(seen.boxes.size() == stored.boxes.size());
    for (std::size_t i = 0; i < seen.boxes.size(); ++i)
      CHECK(seen.boxes[i].label == (stored.boxes[i].label == 0 ? 2 : 0));
  }
}

/// Counts rows.
struct RowCounter : Validator {
  double rows = 0;
  void begin_validation() override { rows = 0; }
  void validate(Slab& slab) override { rows += static_cast<double>(slab.rows().size()); }
  Scalars end_validation() override { return {{"loss", rows}}; }
};

TEST_CASE("each validation says in how many rows another record stands for a bad one") {
  const FakeDataset dataset(20, 4, true);
  const FakeOrder order(20, 1);
  FakeSampler sampler(4);
  sampler.before_sample = [](std::uint64_t id) {
    if (id == 3 || id == 7) throw SampleError("torn");
  };
  const auto device = make_cpu_device();
  LoaderParts parts{"val", dataset, order, sampler, *device, Batches(20, 8, LastBatch::pad)};
  parts.batch = 8;
  const Scheduler scheduler(2);
  Loader line(std::move(parts));
  line.start();
  int reported = 0;
  BadSamples bad(dataset, {"val", 10}, [&](auto&) { ++reported; });
  RowCounter counter;
  for (int round = 0; round < 2; ++round) {
    const ValidationSet set{.loader = line, .batches = 3, .bad_samples = bad};
    const auto found = ValidationPass(set, counter, [] { return true; }).run(5);
    REQUIRE(found.scalars);
    CHECK(found.scalars->front().second == 20);
    CHECK(found.replaced == 2);
    CHECK(reported == 2);  // each once
  }
}

}  // namespace
}  // namespace flowtrain::validation_data_test
