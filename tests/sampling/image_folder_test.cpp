#include <doctest/doctest.h>

#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain {
namespace {

std::unique_ptr<Dataset> open(const std::string& path, bool training = true, const std::string& split = "") {
  const auto entry = image_folder_entry();
  return entry.make(settings_for(entry.keys, {{"path", path}, {"split", split}}), {training});
}

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
  check_failure(failure, ExitCode::data, "no pictures (.jpg, .jpeg, .jpe, .jfif, .png, .webp) in sub-folders");
  const Tree texts({"a/1.txt"});
  check_failure(failure_of([&] { open(texts.path()); }), ExitCode::data, "no pictures");
  const TempFolder empty;
  check_failure(failure_of([&] { open(empty.path()); }), ExitCode::data, "no pictures");
  const Tree train({"train/a/1.jpg", "train/b/1.jpg"});
  check_failure(failure_of([&] { open(train.path(), false); }), ExitCode::data, "no folder 'val' or 'test' beside it");
  check_failure(failure_of([&] { open(train.path(), true, "vall"); }), ExitCode::data, "data.split: no folder 'vall'");
}

TEST_CASE("image_folder: files of other kinds are counted and told, as are folders without a picture") {
  static Texts warnings;
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const Tree temp({"cat/1.jpg", "cat/2.jfif", "cat/3.JPE", "cat/4.bmp", "cat/5.BMP", "cat/6.tiff", "emu/1.bmp",
                   "emu/sub/2.gif", "owl/1.png", "owl/notes", "README.txt"});
  const auto set = open(temp.path());
  CHECK(set->size() == 4);
  CHECK(set->classes() == Texts{"cat", "owl"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == (temp.path() / "").string() +
                           ": 6 files of other kinds left out: 3 .bmp, 1 without ending, 1 .gif, 1 .tiff; of folders "
                           "that hold nothing else no class is made: emu; convert pictures of other kinds to PNG or "
                           "JPEG");
  const Tree plain({"cat/1.jpg", "owl/1.png", "README.txt"});
  open(plain.path());
  const Tree one({"cat/1.jpg", "cat/a.csv"});
  open(one.path());
  set_warning_sink(nullptr);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1].find(": 1 file of another kind left out: 1 .csv; convert") != std::string::npos);

  const Tree none({"cat/1.bmp", "dog/1.bmp"});
  const auto failure = failure_of([&] { open(none.path()); });
  check_failure(failure, ExitCode::data, "in sub-folders; 2 files of other kinds left out: 2 .bmp");
  CHECK(failure.hint() == "convert pictures of other kinds to PNG or JPEG");
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

TEST_CASE("image_folder: a picture that vanishes is one bad sample") {
  const Tree temp({"a/1.jpg", "a/2.jpg"});
  const auto set = open(temp.path());
  std::filesystem::remove(temp.path() / "a/1.jpg");
  ReadBuffer buffer;
  CHECK_THROWS_AS(set->read(0, buffer), SampleError);
  CHECK(set->read(1, buffer).bytes.size() == 7);
}

}  // namespace
}  // namespace flowtrain
