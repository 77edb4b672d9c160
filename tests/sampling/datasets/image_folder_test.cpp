#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "sampling/named_dataset.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::image_folder_test {
namespace {

std::unique_ptr<Dataset> open(const std::string& path, bool training = true, const std::string& split = "",
                              const std::string& split_names = "auto") {
  const auto entry = image_folder_entry();
  return entry.make(settings_for(entry.keys, {{"path", path}, {"split", split}, {"split_names", split_names}}),
                    {training});
}

const NamedDataset& named(const std::unique_ptr<Dataset>& set) { return dynamic_cast<const NamedDataset&>(*set); }

/// Collects the warnings of a scope.
struct Warnings {
  Warnings() {
    all().clear();
    set_warning_sink([](const std::string& text) { all().push_back(text); });
  }
  ~Warnings() { set_warning_sink(nullptr); }
  static std::vector<std::string>& all() {
    static std::vector<std::string> texts;
    return texts;
  }
  static bool have(const std::string& part) {
    return std::ranges::any_of(all(), [&](auto& text) { return text.find(part) != text.npos; });
  }
};

using Texts = std::vector<std::string>;

/// Files that hold their own names.
struct Tree : TempFolder {
  explicit Tree(const Texts& names) {
    for (const auto& name : names) write(name, name);
  }
};

std::string archive_of(const TempFolder& temp, const Texts& names) {
  TarBytes bytes;
  for (const auto& name : names) bytes.entry(name, name);
  return temp.write("a.tar", bytes.end()).string();
}

TEST_CASE("image_folder: classes are the sorted folders, in a folder and in an archive") {
  const Texts names = {"cat/b.jpg", "cat/sub/a.PNG", "cat-big/1.jpeg", "ant/x.jpg", "ant/notes.txt", "README.jpg"};
  const Tree temp(names);
  TempFolder other;
  for (const auto& path : {temp.path().string(), archive_of(other, names)}) {
    CAPTURE(path);
    const auto set = open(path);
    CHECK(set->classes() == Texts{"ant", "cat", "cat-big"});
    REQUIRE(set->size() == 4);
    CHECK_FALSE(set->resident());
    ReadBuffer buffer;
    Texts seen;
    for (std::uint64_t id = 0; id < set->size(); ++id) {
      const auto record = set->read(id, buffer);
      const std::string content(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
      CHECK(record.id == id);
      CHECK(record.encoding == Encoding::image);
      CHECK(record.label == set->label(id));
      CHECK(content.substr(0, content.find('/')) == set->classes()[set->label(id)]);
      CHECK(set->describe(id).ends_with(content));
      seen.push_back(content);
    }
    CHECK(seen == Texts{"ant/x.jpg", "cat-big/1.jpeg", "cat/b.jpg", "cat/sub/a.PNG"});
  }
}

TEST_CASE("image_folder: splits") {
  const Tree temp({"train/a/1.jpg", "train/b/2.jpg", "train/b/3.jpg", "test/a/4.jpg", "extra/c/5.jpg"});
  CHECK(open(temp.path())->size() == 3);
  CHECK(open(temp.path(), false)->describe(0).ends_with("test/a/4.jpg"));
  CHECK(open(temp.path(), true, "extra")->classes() == Texts{"c"});
  temp.write("val/b/6.jpg", "");
  CHECK(open(temp.path(), false)->describe(0).ends_with("val/b/6.jpg"));
}

TEST_CASE("image_folder: splits go by their usual names, in any case") {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"Training", "Testing"},  {"Train", "Test"},    {"TRAIN", "VAL"},           {"seg_train", "seg_test"},
      {"train", "valid"},       {"train", "dev"},     {"train", "validation"},    {"train_set", "test_set"},
      {"train2017", "val2017"}, {"trainval", "test"}, {"all/Training", "all/Val"}};
  for (const auto& [training, validation] : pairs) {
    CAPTURE(training);
    const Tree temp({training + "/cat/1.jpg", training + "/dog/2.jpg", validation + "/cat/3.jpg"});
    const auto first = open(temp.path()), second = open(temp.path(), false);
    CHECK(first->size() == 2);
    CHECK(first->classes() == Texts{"cat", "dog"});
    CHECK(named(first).place() == (temp.path() / training).string());
    CHECK(named(first).has_split());
    REQUIRE(second->size() == 1);
    CHECK(second->describe(0).ends_with(validation + "/cat/3.jpg"));
  }
  const Tree own({"seg_train/seg_train/cat/1.jpg", "seg_train/seg_train/dog/1.jpg", "seg_test/seg_test/cat/1.jpg",
                  "seg_pred/seg_pred/1.jpg"});
  CHECK(open(own.path())->classes() == Texts{"cat", "dog"});
  CHECK(named(open(own.path())).notes().back().starts_with("not used: seg_pred in "));
  const Tree valid({"Train/cat/1.jpg", "Valid/cat/1.jpg"});
  CHECK(open(valid.path(), true, "valid")->describe(0).ends_with("Valid/cat/1.jpg"));
}

TEST_CASE("image_folder: a test split validates only where there is no validation split, and has the classes") {
  const Tree temp({"train/a/1.jpg", "train/b/2.jpg", "test/a/4.jpg"});
  CHECK(open(temp.path(), false)->describe(0).ends_with("test/a/4.jpg"));
  CHECK(named(open(temp.path()))
            .notes()
            .front()
            .find("there is no validation split, so the test data choose the best snapshot") != std::string::npos);
  temp.write("valid/b/6.jpg", "");
  CHECK(open(temp.path(), false)->describe(0).ends_with("valid/b/6.jpg"));
  CHECK(named(open(temp.path())).notes().front().find("test (1 image); the run does not use it") != std::string::npos);

  const Tree unlabelled({"train/a/1.jpg", "train/b/2.jpg", "test/4.jpg", "test/5.jpg"});
  const auto training = open(unlabelled.path());
  CHECK_FALSE(named(training).has_split());
  CHECK(open(unlabelled.path(), false)->fingerprint() == training->fingerprint());
  CHECK(named(training).notes().front().find("no folders of these classes") != std::string::npos);
  const Tree alone({"train/a/1.jpg", "train/b/2.jpg"});
  CHECK_FALSE(named(open(alone.path())).has_split());
  CHECK(open(alone.path(), false)->size() == 2);
}

TEST_CASE("image_folder: where a name may be a class or a split, the key that decides is named") {
  const Tree flat({"bus/1.jpg", "car/1.jpg", "train/1.jpg", "truck/1.jpg"});
  const Tree nested({"all/bus/day/1.jpg", "all/car/day/1.jpg", "all/train/day/1.jpg", "all/truck/night/1.jpg"});
  for (const auto* tree : {&flat, &nested})
    for (const bool training : {true, false}) {
      const auto failure = failure_of([&] { open(tree->path(), training); });
      check_failure(failure, ExitCode::data, ": train may be a split, or a class as are bus, car, truck");
      CHECK(failure.hint().find("data.split_names = \"ignore\"") != std::string::npos);
      CHECK(open(tree->path(), training, "", "ignore")->classes() == Texts{"bus", "car", "train", "truck"});
    }
  CHECK(open(nested.path(), true, "", "use")->classes() == Texts{"day"});
  const Tree twice({"test/1.jpg", "train/1.jpg", "tram/1.jpg"});
  check_failure(failure_of([&] { open(twice.path()); }), ExitCode::data, "train, test may be a split");
  for (const Texts& names : {Texts{"test/1.jpg", "train/1.jpg"}, {"a_val/1.jpg", "a_train/1.jpg", "a_test/1.jpg"}}) {
    const Tree bare(names);
    check_failure(failure_of([&] { open(bare.path()); }), ExitCode::data,
                  " may be splits without folders of classes, or classes");
    CHECK(open(bare.path(), true, "", "ignore")->classes().size() == names.size());
  }
  const Tree cycle({"trainA/1.jpg", "trainB/1.jpg", "testA/1.jpg", "testB/1.jpg"});
  check_failure(failure_of([&] { open(cycle.path()); }), ExitCode::data, "holds several groups of splits: trainA");
  const Tree two({"train/a/1.jpg", "val/a/1.jpg", "val2/a/1.jpg", "Valid/a/1.jpg"});
  CHECK(open(two.path(), false)->describe(0).ends_with("val/a/1.jpg"));
  std::filesystem::remove_all(two.path() / "val");
  check_failure(failure_of([&] { open(two.path(), false); }), ExitCode::data, "may be the split 'val': Valid, val2");
  const Tree below({"cat/train/1.jpg", "cat/test/1.jpg", "dog/train/1.jpg"});
  check_failure(failure_of([&] { open(below.path()); }), ExitCode::data,
                "cat has folders named after splits: train, test");
  CHECK(open(below.path(), true, "", "ignore")->classes() == Texts{"cat", "dog"});
}

TEST_CASE("image_folder: a folder without a picture stays a class of training, in a folder and in an archive") {
  const Tree temp({"train/ant/1.jpg", "train/cow/1.jpg", "val/cow/2.jpg"});
  std::filesystem::create_directories(temp.path() / "train/bee");
  std::filesystem::create_directories(temp.path() / "val/elk");
  const auto tar = temp.write("a.tar", TarBytes()
                                           .entry("train/bee/", "", '5')
                                           .entry("train/ant/1.jpg", "1")
                                           .entry("train/cow/1.jpg", "1")
                                           .entry("train/cow/Thumbs.db", "1")
                                           .entry("val/cow/2.jpg", "1")
                                           .end());
  for (const auto& path : {temp.path(), tar}) {
    const Warnings collected;
    const auto set = open(path);
    CHECK(set->classes() == Texts{"ant", "bee", "cow"});
    CHECK(set->label(1) == 2);
    CHECK(Warnings::have("no image is in bee: it is still a class"));
    CHECK(open(path, false)->classes() == Texts{"cow"});
  }
}

TEST_CASE("image_folder: what systems and editors leave behind is no class and no sample") {
  const Warnings collected;
  const Tree temp({"cat/1.jpg", "cat/Thumbs.db", "dog/1.jpg", "dog/.DS_Store", "__MACOSX/cat/1.jpg", "@eaDir/1.jpg",
                   ".cache/1.jpg", "cat/desktop.ini"});
  const auto set = open(temp.path());
  CHECK(set->classes() == Texts{"cat", "dog"});
  CHECK(set->size() == 2);
  CHECK(Warnings::all().empty());
  CHECK(named(set).notes() == Texts{"hidden folders are not read: .cache"});
}

TEST_CASE("image_folder: odd data sets are trained on, and told of") {
  const Warnings collected;
  const Tree temp({"Cat/1.jpg", "cat/2.jpg", "3.jpg"});
  std::filesystem::create_directory_symlink("Cat", temp.path() / "linked");
  const auto set = open(temp.path());
  CHECK(set->classes() == Texts{"Cat", "cat", "linked"});
  CHECK(set->size() == 3);
  CHECK(Warnings::have("Cat and cat differ only in case, and are two classes"));
  CHECK(Warnings::have("1 image is outside of the class folders, and is left out"));
  const Tree one({"cat/1.jpg", "cat/2.jpg"});
  CHECK(named(open(one.path())).notes() == Texts{"there is only one class, cat: a net learns nothing from its labels"});
}

TEST_CASE("image_folder: names that are not UTF-8 are shown with escapes, everywhere the same") {
  const Tree temp({"caf\xe9/\xe8.jpg", "th\xe9/1.jpg", "water/1.jpg"});
  const auto set = open(temp.path());
  CHECK(set->classes() == Texts{"caf\\xE9", "th\\xE9", "water"});
  CHECK(named(set).name(0) == "caf\\xE9/\\xE8.jpg");
  CHECK(set->describe(0) == (temp.path() / "caf\\xE9/\\xE8.jpg").string());
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).bytes.size() == 10);
}

TEST_CASE("image_folder: one folder around everything is looked into") {
  TempFolder temp;
  CHECK(open(archive_of(temp, {"./all/rose/1.jpg", "./all/tulip/2.jpg", "LICENSE"}))->classes() ==
        Texts{"rose", "tulip"});
  CHECK(open(archive_of(temp, {"all/train/rose/1.jpg", "all/val/rose/2.jpg"}), false)->size() == 1);
  CHECK(open(archive_of(temp, {"all/rose/1.jpg", "all/rose/2.jpg"}))->classes() == Texts{"rose"});
  CHECK(open(archive_of(temp, {"rose/1.jpg"}))->classes() == Texts{"rose"});
}

TEST_CASE("image_folder: what is wrong is named") {
  check_failure(failure_of([] { open("no/such"); }), ExitCode::data, "data.path: no such folder or archive: no/such");
  const Tree flat({"1.jpg", "2.jpg"});
  const auto failure = failure_of([&] { open(flat.path()); });
  check_failure(failure, ExitCode::data, flat.path().string());
  check_failure(failure, ExitCode::data, "no images (.jpg, .jpeg, .jpe, .jfif, .png, .webp) in sub-folders");
  const Tree texts({"a/1.txt"});
  check_failure(failure_of([&] { open(texts.path()); }), ExitCode::data, "no images");
  const TempFolder empty;
  check_failure(failure_of([&] { open(empty.path()); }), ExitCode::data, "no images");
  const Tree train({"train/a/1.jpg", "train/b/1.jpg"});
  check_failure(failure_of([&] { open(train.path(), true, "vall"); }), ExitCode::data,
                concat("data.split: no folder 'vall' with files in ", train.path().string(), "; there are train"));
  const Tree test({"test/a/1.jpg", "test/b/1.jpg"});
  check_failure(failure_of([&] { open(test.path()); }), ExitCode::data,
                "there is test, but no folder 'train' beside it");
}

TEST_CASE("image_folder: files of other kinds are counted and told, as are folders without a picture") {
  const Warnings collected;
  const auto& warnings = Warnings::all();
  const Tree temp({"cat/1.jpg", "cat/2.jfif", "cat/3.JPE", "cat/4.bmp", "cat/5.BMP", "cat/6.hdr", "emu/1.bmp",
                   "emu/sub/2.gif", "owl/1.png", "owl/notes", "papers/1.pdf", "README.txt"});
  const auto set = open(temp.path());
  CHECK(set->size() == 4);
  CHECK(set->classes() == Texts{"cat", "emu", "owl"});
  REQUIRE(warnings.size() == 2);
  const auto here = (temp.path() / "").string();
  CHECK(warnings[0] == here +
                           ": 7 files of other kinds left out: 3 .bmp, 1 without ending, 1 .gif, 1 .hdr, 1 .pdf; "
                           "folders that hold nothing else are no classes: papers; convert images of other kinds "
                           "to PNG or JPEG");
  CHECK(warnings[1] == here +
                           ": no image is in emu: it is still a class, so that labels follow the folder "
                           "names; remove a folder that is no class");
  const Tree plain({"cat/1.jpg", "owl/1.png", "README.txt"});
  open(plain.path());
  const Tree one({"cat/1.jpg", "cat/a.csv"});
  open(one.path());
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[2].find(": 1 file of another kind left out: 1 .csv; convert") != std::string::npos);

  const Tree none({"cat/1.bmp", "dog/1.bmp"});
  const auto failure = failure_of([&] { open(none.path()); });
  check_failure(failure, ExitCode::data, "in sub-folders; 2 files of other kinds left out: 2 .bmp");
  CHECK(failure.hint() == "convert images of other kinds to PNG or JPEG");
}

TEST_CASE("image_folder: the fingerprint is that of the pictures' names, wherever they lie") {
  const Texts names{"cat/1.jpg", "dog/1.jpg", "dog/2.jpg"};
  const Tree temp(names), again(names);
  const auto first = open(temp.path())->fingerprint();
  CHECK(open(again.path())->fingerprint() == first);
  again.write("dog/notes.txt", "");
  CHECK(open(again.path())->fingerprint() == first);
  std::filesystem::rename(again.path() / "dog/2.jpg", again.path() / "dog/0.jpg");
  const auto renamed = open(again.path())->fingerprint();
  CHECK(renamed != first);
  std::filesystem::rename(again.path() / "cat", again.path() / "zebra");
  CHECK(open(again.path())->fingerprint() != renamed);
  std::filesystem::remove(temp.path() / "dog/2.jpg");
  CHECK(open(temp.path())->fingerprint() != first);
}

TEST_CASE("image_folder: the version is another one where a picture was written again") {
  const Tree temp(Texts{"cat/1.jpg", "dog/1.jpg"});
  const auto set = open(temp.path());
  const auto fingerprint = set->fingerprint(), version = set->version();
  CHECK(open(temp.path())->version() == version);
  std::ofstream(temp.path() / "dog/1.jpg", std::ios::app) << "x";
  CHECK(set->fingerprint() == fingerprint);
  CHECK(set->version() != version);
}

TEST_CASE("image_folder: a picture that vanishes is one bad sample") {
  const Tree temp({"a/1.jpg", "a/2.jpg"});
  const auto set = open(temp.path());
  std::filesystem::remove(temp.path() / "a/1.jpg");
  ReadBuffer buffer;
  CHECK_THROWS_AS(set->read(0, buffer), SampleError);
  CHECK(set->read(1, buffer).bytes.size() == 7);
}

}  // namespace
}  // namespace flowtrain::image_folder_test
