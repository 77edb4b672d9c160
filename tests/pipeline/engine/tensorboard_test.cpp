// Event files, read back by their own rules; tests/program/tensorboard_test.cpp reads them with TensorBoard.

#include "pipeline/engine/tensorboard/tensorboard.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/tensorboard/event_file.h"
#include "pipeline/engine/tensorboard/events.h"
#include "pipeline/engine/tensorboard/pictures.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::tensorboard_test {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> records_of(const fs::path& file) {
  std::vector<std::string> records;
  each_record(file, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Tags of an event's summary.
std::vector<std::string> tags_of(const std::string& event) {
  std::vector<std::string> tags;
  each_field(event, [&](const ProtoField& summary) {
    if (summary.number != 5) return;
    each_field(summary.bytes, [&](const ProtoField& value) {
      each_field(value.bytes, [&](const ProtoField& tag) {
        if (tag.number == 1) tags.emplace_back(tag.bytes);
      });
    });
  });
  return tags;
}

// Iterations of the events with a tag.
std::vector<std::uint64_t> iterations_of(const fs::path& file, const std::string& tag) {
  std::vector<std::uint64_t> iterations;
  for (auto& record : records_of(file)) {
    const auto tags = tags_of(record);
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) iterations.push_back(content_of(record).iteration);
  }
  return iterations;
}

void train(TensorBoard& board, std::uint64_t first, std::uint64_t last) {
  board.begin({{{"read", "read\nfiles", true}, {"plan", "plan"}}, {{"plan", "read", "tickets"}}});
  for (std::uint64_t i = first; i <= last; ++i) board.step({.iteration = i, .loss = 1, .report = i % 2 == 0}, {});
  board.validation({.iteration = last, .scalars = {{"accuracy", 0.5}}});
  board.epoch(last, 0, {{"loss", 1}});
  board.finish();
}

const std::string tiny_png = "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03", 16) + "rest";

struct Quiet {
  Quiet() { set_console_level(ConsoleLevel::quiet); }
  TempFolder folder;
};

}  // namespace

TEST_CASE("tensorboard: checksums are those of RFC 3720") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
}

TEST_CASE("tensorboard: records are read up to the first that is not whole") {
  const TempFolder folder;
  const auto path = folder.path() / "events";
  {
    EventFile file(path);
    file.append(frame("one"));
    file.append(frame(std::string(70000, 'x')) + frame(""));
  }
  CHECK_THROWS_AS(EventFile{path}, std::system_error);
  const auto whole = fs::file_size(path);
  CHECK(records_of(path) == std::vector<std::string>{"one", std::string(70000, 'x'), ""});
  const std::string torn = frame("torn");
  for (std::size_t bytes = 1; bytes < torn.size(); ++bytes) {
    CAPTURE(bytes);
    std::ofstream(path, std::ios::app | std::ios::binary) << torn.substr(0, bytes);
    CHECK(each_record(path, [](std::string_view) {}) == whole);
    fs::resize_file(path, whole);
  }
  std::string damaged = torn;
  damaged[13] ^= 1;
  std::ofstream(path, std::ios::app | std::ios::binary) << damaged;
  CHECK(each_record(path, [](std::string_view) {}) == whole);
}

TEST_CASE("tensorboard: messages are read as they were written, and damaged ones end early") {
  ProtoWriter inner, outer;
  inner.number(3, 1ull << 40);
  inner.real(4, 0.5);
  inner.short_real(5, 0.5f);
  outer.text(1, inner.bytes());
  outer.text(200, "text");
  std::vector<std::uint64_t> numbers;
  for (std::size_t bytes = 0; bytes <= outer.bytes().size(); ++bytes)
    each_field(std::string_view(outer.bytes()).substr(0, bytes), [&](const ProtoField& field) {
      if (bytes < outer.bytes().size()) return;
      numbers.push_back(field.number);
      if (field.number == 200) CHECK(field.bytes == "text");
      if (field.number == 1)
        each_field(field.bytes, [&](const ProtoField& of_inner) {
          numbers.push_back(of_inner.number);
          if (of_inner.number == 3) CHECK(of_inner.value == 1ull << 40);
        });
    });
  CHECK(numbers == std::vector<std::uint64_t>{1, 3, 4, 5, 200});
}

TEST_CASE("tensorboard: a start makes a file, and one that goes on says from where") {
  const Quiet quiet;
  const auto folder = quiet.folder.path() / "tensorboard";
  {
    TensorBoard board(quiet.folder.path(), 1, "name = \"x\"");
    train(board, 1, 10);
  }
  auto files = files_in(folder);
  REQUIRE(files.size() == 1);
  CHECK(iterations_of(files[0], "train/loss") == std::vector<std::uint64_t>{2, 4, 6, 8, 10});
  CHECK(iterations_of(files[0], "val/accuracy") == std::vector<std::uint64_t>{10});
  CHECK(iterations_of(files[0], "epoch/loss") == std::vector<std::uint64_t>{10});
  CHECK(iterations_of(files[0], "config") == std::vector<std::uint64_t>{0});
  CHECK(iterations_of(files[0], "graph") == std::vector<std::uint64_t>{0});

  const auto whole = fs::file_size(files[0]);
  std::ofstream(files[0], std::ios::app | std::ios::binary) << frame("torn").substr(0, 7);
  // The clock was set back: the file is to be the last one all the same.
  const auto future = folder / "events.out.tfevents.9999999998.flowtrain";
  fs::rename(files[0], future);
  {
    TensorBoard board(quiet.folder.path(), 7, "");
    train(board, 7, 10);
  }
  files = files_in(folder);
  REQUIRE(files.size() == 2);
  CHECK(files[0] == future);
  CHECK(fs::file_size(future) == whole);
  const auto records = records_of(files[1]);
  REQUIRE(records.size() > 2);
  CHECK(content_of(records[1]).starts);
  CHECK(content_of(records[1]).iteration == 7);
  CHECK(iterations_of(files[1], "train/loss") == std::vector<std::uint64_t>{8, 10});
  CHECK(iterations_of(files[1], "config").empty());
}

TEST_CASE("tensorboard: pictures of validations are written once, and again where they are made again") {
  const Quiet quiet;
  const auto write = [&](const std::string& iteration) {
    quiet.folder.write("pictures/iter-" + iteration + "/00.png", tiny_png);
    quiet.folder.write("pictures/iter-" + iteration + "/01.png", "no picture");
    quiet.folder.write("pictures/iter-" + iteration + "/pictures.json",
                       R"({"samples":[{"file":"00.png"},{"file":"01.png"}],"worst":[{"file":"00.png"}]})");
  };
  write("00000004");
  write("00000008");
  write("00000020");  // of a later iteration: it was left by a run that went further
  quiet.folder.write("pictures/iter-00000006/pictures.json", R"({"samples":[{"file":"00.png"}]})");  // on its way
  quiet.folder.write("pictures/iter-00000002/pictures.json", R"({"samples":[{"file":"../../secret"}]})");
  {
    TensorBoard board(quiet.folder.path(), 1, "");
    train(board, 1, 10);
  }
  const auto folder = quiet.folder.path() / "tensorboard";
  auto files = files_in(folder);
  CHECK(iterations_of(files.back(), "pictures/00") == std::vector<std::uint64_t>{4, 8});
  CHECK(iterations_of(files.back(), "worst/00") == std::vector<std::uint64_t>{4, 8});
  CHECK(iterations_of(files.back(), "pictures/01").empty());
  {
    TensorBoard board(quiet.folder.path(), 7, "");
    train(board, 7, 10);
  }
  files = files_in(folder);
  CHECK(iterations_of(files.back(), "pictures/00") == std::vector<std::uint64_t>{8});
}

TEST_CASE("tensorboard: a validation that a resume repeats is there once") {
  const Quiet quiet;
  const auto folder = quiet.folder.path() / "tensorboard";
  const auto validate = [&](std::uint64_t first, std::vector<std::uint64_t> iterations) {
    TensorBoard board(quiet.folder.path(), first, "");
    board.begin({});
    for (const auto iteration : iterations) board.validation({.iteration = iteration, .scalars = {{"accuracy", 0.5}}});
    board.finish();
  };
  validate(1, {4, 8});
  validate(7, {4, 8, 12});  // that of 4 ran beside training, so it is done again; 8 is forgotten by readers
  CHECK(iterations_of(files_in(folder).back(), "val/accuracy") == std::vector<std::uint64_t>{8, 12});
}

TEST_CASE("tensorboard: pictures of other sets have their names, and those with boxes come first") {
  const Quiet quiet;
  quiet.folder.write("pictures/iter-00000004/00.png", tiny_png);
  quiet.folder.write("pictures/iter-00000004/00-boxes.png", tiny_png + "boxes");
  quiet.folder.write("pictures/iter-00000004/pictures.json",
                     R"({"samples":[{"file":"00.png","boxes_file":"00-boxes.png"}]})");
  quiet.folder.write("pictures/iter-00000004/night/00-prediction.png", tiny_png);
  quiet.folder.write("pictures/iter-00000004/night/pictures.json",
                     R"({"samples":[{"prediction_file":"00-prediction.png"}]})");
  {
    TensorBoard board(quiet.folder.path(), 1, "");
    train(board, 1, 10);
  }
  const auto file = files_in(quiet.folder.path() / "tensorboard").back();
  CHECK(iterations_of(file, "pictures/00") == std::vector<std::uint64_t>{4});
  CHECK(iterations_of(file, "pictures/night/00") == std::vector<std::uint64_t>{4});
  CHECK(testing::read_text(file).find("boxes") != std::string::npos);
}

TEST_CASE("tensorboard: texts of samples are a table without markup, and further pictures have the names of fields") {
  const Quiet quiet;
  quiet.folder.write("pictures/iter-00000004/00.spectrum.png", tiny_png);
  quiet.folder.write("pictures/iter-00000004/pictures.json",
                     R"json({"samples":[{"fields":[{"name":"caption","text":"<b>a|b ![x](y)"},
                                                   {"name":"spectrum","file":"00.spectrum.png"}]}]})json");
  {
    TensorBoard board(quiet.folder.path(), 1, "");
    train(board, 1, 10);
  }
  const auto file = files_in(quiet.folder.path() / "tensorboard").back();
  CHECK(iterations_of(file, "pictures/00/spectrum") == std::vector<std::uint64_t>{4});
  CHECK(iterations_of(file, "pictures/fields") == std::vector<std::uint64_t>{4});
  CHECK(testing::read_text(file).find(R"json(| 00 | caption | &lt;b\>a\|b \!\[x\]\(y\) |)json") != std::string::npos);
}

TEST_CASE("tensorboard: a folder that cannot be written is a warning") {
  const Quiet quiet;
  quiet.folder.write("tensorboard", "a file is in the way");
  TensorBoard board(quiet.folder.path(), 1, "");
  train(board, 1, 10);
  TensorBoard nowhere({}, 1, "");
  train(nowhere, 1, 10);
}

}  // namespace flowtrain::tensorboard_test
