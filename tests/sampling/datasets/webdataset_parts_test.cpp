#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::webdataset_parts_test {
namespace {

using Texts = std::vector<std::string>;

std::unique_ptr<Dataset> open(const std::filesystem::path& path, const Texts& parts = {"*"}) {
  const auto entry = webdataset_entry();
  return entry.make(settings_for(entry.keys, {{"path", path.string()}, {"parts", parts}}), {});
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A .npy file of i32 (2).
std::string npy_of(std::int32_t first, std::int32_t second) {
  const std::string dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }     \n";
  std::string file = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict;
  for (const auto value : {first, second}) file.append(reinterpret_cast<const char*>(&value), sizeof value);
  return file;
}

TEST_CASE("webdataset: the other files of a sample are its parts") {
  TempFolder temp;
  const auto path = temp.write("s.tar", TarBytes()
                                            .entry("a.jpg", "first")
                                            .entry("a.cls", "1")
                                            .entry("a.txt", "a dog")
                                            .entry("a.seg.png", "mask")
                                            .entry("a.NPY", npy_of(1, 2))
                                            .entry("a.json", "{}")
                                            .entry("b.flac", "sound")
                                            .entry("b.jpg", "second")
                                            .entry("b.cls", "0")
                                            .entry("c.csv", "no picture")
                                            .end());
  for (int round = 0; round < 2; ++round) {  // scanned, and from the index
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const auto set = open(path);
    REQUIRE(set->size() == 2);
    Texts names;
    for (const auto& form : set->parts()) names.push_back(concat(form.name, " ", name_of(form.encoding)));
    CHECK(names == Texts{"audio audio", "json text", "npy array", "seg.png image", "txt text"});
    CHECK(set->parts()[2].dtype == DType::i32);
    CHECK(set->parts()[2].shape == std::vector<std::int64_t>{-1});
    ReadBuffer buffer;
    const auto first = set->read(0, buffer);
    CHECK(text_of(first.bytes) == "first");
    CHECK(first.label == 1);
    REQUIRE(first.parts.size() == 5);
    CHECK(first.part("audio")->bytes.empty());
    CHECK(text_of(first.part("json")->bytes) == "{}");
    CHECK(text_of(first.part("npy")->bytes) == std::string("\1\0\0\0\2\0\0\0", 8));
    CHECK(first.part("npy")->shape[0] == 2);
    CHECK(text_of(first.part("seg.png")->bytes) == "mask");
    CHECK(text_of(first.part("txt")->bytes) == "a dog");
    const auto second = set->read(1, buffer);
    CHECK(text_of(second.bytes) == "second");
    CHECK(text_of(second.part("audio")->bytes) == "sound");
    CHECK(second.part("npy")->shape[0] == 0);
    CHECK_FALSE(set->outline(0, *std::make_unique<Record>(), buffer));
  }
  ReadBuffer buffer;
  Record outline;
  const auto texts = open(path, {"txt"});
  REQUIRE(texts->outline(0, outline, buffer));
  CHECK(outline.part("txt")->shape[0] == 5);
  CHECK(texts->read(0, buffer).parts.size() == 1);
  CHECK(open(path, {})->parts().empty());
  CHECK(text_of(open(path, {})->read(1, buffer).bytes) == "second");
  CHECK(std::string(failure_of([&] { open(path, {"text"}); }).what()) ==
        path.string() + ": no sample has a file of the kind 'text'");
}

TEST_CASE("webdataset: samples without an image count if there are no images at all") {
  TempFolder temp;
  const auto path =
      temp.write("d/s0.tar",
                 TarBytes().entry("a.txt", "good").entry("a.cls", "1").entry("b.cls", "0").entry("b.txt", "bad").end());
  const auto set = open(temp.path() / "d");
  REQUIRE(set->size() == 2);
  CHECK(set->label(0) == 1);
  CHECK(set->describe(1) == path.string() + ":b.txt");
  ReadBuffer buffer;
  const auto record = set->read(1, buffer);
  CHECK(record.encoding == Encoding::bytes);
  CHECK(record.bytes.empty());
  CHECK(text_of(record.part("txt")->bytes) == "bad");
  Record outline;
  REQUIRE(set->outline(1, outline, buffer));
  CHECK(outline.parts[0].shape[0] == 3);
  temp.write("d/s1.tar", TarBytes().entry("p.cls", "0").entry("p.jpg", "picture").end());
  check_failure(failure_of([&] { open(temp.path() / "d"); }), ExitCode::data,
                path.string() + ": sample 'a': it has a label (.cls), but no image (.jpg, ");
  temp.write("d/s0.tar", TarBytes().entry("a.txt", "good").end());
  const auto pictures = open(temp.path() / "d");
  CHECK(pictures->size() == 1);
  CHECK(text_of(pictures->read(0, buffer).bytes) == "picture");
  CHECK(pictures->parts().empty());
}

TEST_CASE("webdataset: a damaged array is a bad sample, and the first one is named at once") {
  TempFolder temp;
  const auto path =
      temp.write("s.tar", TarBytes().entry("a.npy", npy_of(1, 2)).entry("b.npy", npy_of(1, 2).substr(0, 80)).end());
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK_NOTHROW(set->read(0, buffer));
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path.string() + ":b.npy: it is cut short: its header says 2 elements of i32, but 7 bytes follow");
  const auto bad = temp.write("t.tar", TarBytes().entry("a.npy", "junk").end());
  CHECK(std::string(failure_of([&] { open(bad); }).what()) ==
        bad.string() + ": the first member .npy, at byte 512: it is no .npy file");
}

TEST_CASE("webdataset: a text that is not UTF-8 is a bad sample") {
  TempFolder temp;
  const auto path = temp.write(
      "s.tar", TarBytes().entry("a.jpg", "1").entry("a.txt", "good").entry("b.jpg", "2").entry("b.txt", "\xff").end());
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK_NOTHROW(set->read(0, buffer));
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path.string() + ":b.jpg: the text 'txt' is not UTF-8 at byte 0");
  CHECK_NOTHROW(open(path, {})->read(1, buffer));  // the text is not used
}

}  // namespace
}  // namespace flowtrain::webdataset_parts_test
