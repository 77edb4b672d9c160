#include <doctest/doctest.h>

#include "sampling/datasets/entries.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::cifar_test {

namespace {

using Values = std::vector<std::pair<std::string, Value>>;

/// One record: its label bytes, then planes where pixel i of colour c has the value 3 i + c + shift.
std::string record_bytes(const std::string& labels, int shift = 0) {
  std::string bytes = labels;
  for (int color = 0; color < 3; ++color)
    for (int pixel = 0; pixel < 1024; ++pixel) bytes += static_cast<char>(3 * pixel + color + shift);
  return bytes;
}

std::string label(int value) { return std::string(1, static_cast<char>(value)); }

std::unique_ptr<Dataset> open(const TempFolder& folder, Values values = {}, bool training = true) {
  values.emplace_back("path", folder.path().string());
  const auto entry = cifar_entry();
  return entry.make(settings_for(entry.keys, values), {training});
}

std::string refusal(const TempFolder& folder, const Values& values = {}) {
  try {
    open(folder, values);
  } catch (const UserError& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "no error";
}

void write_cifar10(const TempFolder& folder) {
  for (int part = 1; part <= 5; ++part)
    folder.write("data_batch_" + std::to_string(part) + ".bin",
                 record_bytes(label(part), part) + record_bytes(label(part + 4), -part));
  folder.write("test_batch.bin", record_bytes(label(3)));
}

}  // namespace

TEST_CASE("cifar-10: five files in order, pixels with their colours together") {
  const TempFolder folder;
  write_cifar10(folder);
  const auto train = open(folder), test = open(folder, {}, false);
  CHECK(train->size() == 10);
  CHECK(test->size() == 1);
  CHECK(train->resident());
  CHECK(train->classes().size() == 10);
  CHECK(train->classes()[9] == "9");
  CHECK(train->label(4) == 3);
  CHECK(train->label(5) == 7);
  CHECK(train->describe(5) == (folder.path() / "data_batch_3.bin").string() + " #1");
  CHECK(train->describe(0) == (folder.path() / "data_batch_1.bin").string() + " #0");
  ReadBuffer buffer;
  const auto record = train->read(4, buffer);
  CHECK(record.encoding == Encoding::pixels);
  CHECK(record.height == 32);
  CHECK(record.width == 32);
  CHECK(record.channels == 3);
  CHECK(record.label == 3);
  REQUIRE(record.bytes.size() == 3072);
  for (int i = 0; i < 3072; ++i) REQUIRE(record.bytes[i] == static_cast<std::byte>(i + 3));
}

TEST_CASE("cifar-10: class names where they come along") {
  const TempFolder folder;
  write_cifar10(folder);
  folder.write("batches.meta.txt", "airplane\nautomobile\r\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  const auto names = open(folder)->classes();
  CHECK(names.size() == 10);
  CHECK(names[1] == "automobile");
  CHECK(names[9] == "truck");
  folder.write("batches.meta.txt", "airplane\nautomobile");
  CHECK(refusal(folder) == "3 " + (folder.path() / "batches.meta.txt").string() + ": 2 names for 10 classes");
}

TEST_CASE("cifar-100: fine and coarse labels") {
  const TempFolder folder;
  folder.write("train.bin", record_bytes(label(19) + label(99)) + record_bytes(label(0) + label(7)));
  folder.write("test.bin", record_bytes(label(5) + label(50)));
  const auto fine = open(folder), coarse = open(folder, {{"labels", "coarse"}});
  CHECK(fine->size() == 2);
  CHECK(fine->classes().size() == 100);
  CHECK(fine->label(0) == 99);
  CHECK(coarse->classes().size() == 20);
  CHECK(coarse->label(0) == 19);
  CHECK(open(folder, {{"split", "test"}})->label(0) == 50);
  ReadBuffer buffer;
  CHECK(fine->read(1, buffer).bytes[1] == std::byte{1});
}

TEST_CASE("cifar: what is missing or damaged is refused by name") {
  const TempFolder folder;
  const auto path = folder.path().string();
  CHECK(refusal(folder) ==
        "3 test.toml:1:1: data.path: neither CIFAR-10 (data_batch_1.bin …) nor CIFAR-100 (train.bin) is in " + path);
  write_cifar10(folder);
  CHECK(refusal(folder, {{"split", "val"}}) == "2 test.toml:1:1: data.split: cifar has no split \"val\"");
  CHECK(refusal(folder, {{"labels", "coarse"}}) ==
        "2 test.toml:1:1: data.labels: only CIFAR-100 has two kinds of labels, but this is CIFAR-10");
  CHECK(refusal(folder, {{"labels", "both"}}) ==
        "2 test.toml:1:1: data.labels: must be one of \"fine\", \"coarse\", got \"both\"");
  const auto file = folder.write("data_batch_4.bin", record_bytes(label(1)) + record_bytes(label(10)));
  CHECK(refusal(folder) == "3 " + file.string() + " #1: label 10, expected 0 to 9");
  folder.write("data_batch_4.bin", record_bytes(label(1)) + "x");
  CHECK(refusal(folder) == "3 " + file.string() + ": 3074 bytes, expected a multiple of 3073, the size of a record");
  folder.write("data_batch_4.bin", "");
  CHECK(refusal(folder).starts_with("3 " + file.string() + ": 0 bytes"));
  std::filesystem::remove(file);
  CHECK(refusal(folder) == "3 test.toml:1:1: data.path: no data_batch_4.bin in " + path);
}

}  // namespace flowtrain::cifar_test
