#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "sampling/datasets/entries.h"
#include "sampling/datasets/idx_file.h"
#include "sampling/datasets/whole_file.h"
#include "tests/support/paths.h"
#include "tests/support/settings_helper.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::idx_test {

using namespace std::string_literals;

namespace {

using Values = std::vector<std::pair<std::string, Value>>;

std::string idx_bytes(const std::vector<std::uint32_t>& shape, const std::string& values, char type = 0x08) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (const auto extent : shape)
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift);
  return bytes + values;
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::unique_ptr<Dataset> open(const std::filesystem::path& folder, Values values = {}, bool training = true) {
  values.emplace_back("path", folder.string());
  const auto entry = idx_entry();
  return entry.make(settings_for(entry.keys, values), {training});
}

/// ExitCode code, message and hint of the error that opening ends in.
std::string refusal(const std::filesystem::path& folder, const Values& values = {}) {
  try {
    open(folder, values);
  } catch (const UserError& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "no error";
}

std::vector<std::byte> as_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string images_file = "train-images-idx3-ubyte", labels_file = "train-labels-idx1-ubyte";

/// Three pictures of 2 x 3 pixels with the labels 1, 0, 4.
void write_small_set(const TempFolder& folder) {
  folder.write(images_file, idx_bytes({3, 2, 3}, "abcdefghijklmnopqr"));
  folder.write(labels_file, idx_bytes({3}, "\x01\x00\x04"s));
}

}  // namespace

TEST_CASE("idx: the fingerprint is that of pixels and labels") {
  const TempFolder folder, again;
  write_small_set(folder);
  write_small_set(again);
  const auto first = open(folder.path())->fingerprint();
  CHECK(open(again.path())->fingerprint() == first);
  again.write(labels_file, idx_bytes({3}, "\x01\x00\x03"s));
  CHECK(open(again.path())->fingerprint() != first);
  folder.write(images_file, idx_bytes({3, 2, 3}, "abcdefghijklmnopqs"));
  CHECK(open(folder.path())->fingerprint() != first);
}

TEST_CASE("idx: pictures and labels, unpacked and packed") {
  const TempFolder folder;
  write_small_set(folder);
  folder.write("t10k-images-idx3-ubyte.gz", gzip(idx_bytes({1, 2, 2}, "wxyz")));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(idx_bytes({1}, "\x02")));

  const auto train = open(folder.path());
  CHECK(train->size() == 3);
  CHECK(train->resident());
  CHECK(train->classes() == std::vector<std::string>{"0", "1", "2", "3", "4"});
  CHECK(train->describe(2) == (folder.path() / images_file).string() + " #2");
  ReadBuffer buffer;
  const auto record = train->read(1, buffer);
  CHECK(record.id == 1);
  CHECK(record.encoding == Encoding::pixels);
  CHECK(text_of(record.bytes) == "ghijkl");
  CHECK(record.height == 2);
  CHECK(record.width == 3);
  CHECK(record.channels == 1);
  CHECK(record.label == 0);
  CHECK(train->label(2) == 4);
  CHECK(buffer.bytes.capacity() == 0);

  for (const auto& test : {open(folder.path(), {}, false), open(folder.path(), {{"split", "test"}})}) {
    CHECK(test->size() == 1);
    CHECK(text_of(test->read(0, buffer).bytes) == "wxyz");
    CHECK(test->label(0) == 2);
  }
}

TEST_CASE("idx: other file names, channels, class names") {
  const TempFolder folder;
  folder.write("rgb", idx_bytes({1, 1, 2, 3}, "abcdef"));
  folder.write("classes.gz", gzip(idx_bytes({1}, "\x01")));
  const auto dataset =
      open(folder.path(),
           {{"images", "rgb"}, {"labels", "classes"}, {"class_names", std::vector<std::string>{"cat", "dog", "owl"}}});
  ReadBuffer buffer;
  CHECK(dataset->read(0, buffer).channels == 3);
  CHECK(dataset->read(0, buffer).width == 2);
  CHECK(dataset->classes() == std::vector<std::string>{"cat", "dog", "owl"});
}

TEST_CASE("idx: settings that cannot be met") {
  const TempFolder folder;
  const auto missing = (folder.path() / "nowhere").string();
  CHECK(refusal(missing) == "3 test.toml:1:1: data.path: no such folder or archive: " + missing);
  CHECK(refusal("") == "3 test.toml:1:1: data.path: this data set needs a folder or a .tar archive");
  CHECK(refusal(folder.path()) ==
        "3 test.toml:1:1: data.path: no " + images_file + " or " + images_file + ".gz in " + folder.path().string());
  CHECK(refusal(folder.path(), {{"split", "dev"}}) == "2 test.toml:1:1: data.split: idx has no split \"dev\"");
  write_small_set(folder);
  CHECK(refusal(folder.path(), {{"labels", "l"}}) ==
        "3 test.toml:1:1: data.labels: no l or l.gz in " + folder.path().string());
  CHECK(refusal(folder.path(), {{"class_names", std::vector<std::string>{"a", "b"}}}) ==
        "3 test.toml:1:1: data.class_names: names 2 classes, but " + (folder.path() / labels_file).string() +
            " #2 has label 4");
}

TEST_CASE("idx: files that do not fit are refused by name") {
  const TempFolder folder;
  write_small_set(folder);
  const auto images = (folder.path() / images_file).string(), labels = (folder.path() / labels_file).string();
  const auto with_images = [&](const std::string& bytes) {
    folder.write(images_file, bytes);
    return refusal(folder.path());
  };
  CHECK(with_images("") == "3 " + images + ": not an IDX file: it has 0 bytes");
  CHECK(with_images("\x89PNG....") ==
        "3 " + images + ": not an IDX file: it starts with 89 50 4E 47, expected 00 00 08 and the dimensions");
  CHECK(with_images(idx_bytes({3, 2, 3}, "x", 0x0D)) ==
        "3 " + images + ": the file holds f32 values (0x0D), expected u8 values (0x08)");
  CHECK(with_images(idx_bytes({3, 2, 3}, "x", 0x77)) ==
        "3 " + images + ": the file holds unknown values (0x77), expected u8 values (0x08)");
  CHECK(with_images(idx_bytes({}, "")) == "3 " + images + ": the header names no dimensions");
  CHECK(with_images(idx_bytes({3, 2, 3}, "").substr(0, 10)) == "3 " + images + ": truncated within its header");
  CHECK(with_images(idx_bytes({3, 2, 3}, "short")) ==
        "3 " + images + ": truncated: the header says 3 x 2 x 3, but 5 bytes follow");
  CHECK(with_images(idx_bytes({3, 1, 1}, "long")) ==
        "3 " + images + ": too long: the header says 3 x 1 x 1, but 4 bytes follow");
  CHECK(with_images(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, "x")) ==
        "3 " + images + ": truncated: the header says 4294967295 x 4294967295 x 4294967295, but 1 bytes follow");
  CHECK(with_images(idx_bytes({3}, "abc")) ==
        "3 " + images + ": its shape is 3, expected images x height x width, or images x height x width x channels");
  CHECK(with_images(idx_bytes({0, 28, 28}, "")) ==
        "3 " + images + ": the file holds no images: its shape is 0 x 28 x 28");
  CHECK(with_images(idx_bytes({1, 1, 1, 5}, "abcde")) == "3 " + images + ": 5 channels, expected 1 to 4");
  CHECK(with_images(idx_bytes({2, 1, 1}, "ab")) == "3 " + labels + ": 3 labels for the 2 images of " + images);
  folder.write(labels_file, idx_bytes({2, 1}, "ab"));
  CHECK(refusal(folder.path()) == "3 " + labels + ": its shape is 2 x 1, expected one dimension");
}

TEST_CASE("idx: damaged gzip data are refused by name") {
  const TempFolder folder;
  write_small_set(folder);
  std::filesystem::remove(folder.path() / images_file);
  const auto packed = gzip(idx_bytes({3, 2, 3}, "abcdefghijklmnopqr"));
  const auto name = (folder.path() / images_file).string() + ".gz";
  const auto with_images = [&](const std::string& bytes) {
    folder.write(images_file + ".gz", bytes);
    return refusal(folder.path());
  };
  CHECK(with_images(packed) == "no error");
  for (std::size_t size = 2; size < packed.size(); ++size)
    CHECK(with_images(packed.substr(0, size)) == "3 " + name + ": damaged gzip data: it ends early");
  auto flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // in the checksum
  CHECK(with_images(flipped) == "3 " + name + ": damaged gzip data: incorrect data check");
  CHECK(with_images(packed + "rest").starts_with("3 " + name + ": damaged gzip data: "));
}

TEST_CASE("gunzip takes several members, and more than one step of memory") {
  std::string large(3'000'001, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  CHECK(text_of(gunzip(as_bytes(gzip(large)), "x")) == large);
  CHECK(text_of(gunzip(as_bytes(gzip("ab") + gzip("") + gzip("cd")), "x")) == "abcd");
}

TEST_CASE("no bytes make the IDX parser do anything but answer or refuse") {
  const auto good = idx_bytes({2, 2, 2}, "abcdefgh");
  std::uint64_t state = 1;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 56);
    }
    bytes.resize((state >> 40) % (bytes.size() + 1));
    try {
      const auto file = parse_idx(as_bytes(bytes), "x");
      REQUIRE(file.values().size() + file.header_bytes == bytes.size());
    } catch (const UserError& error) {
      REQUIRE(error.code() == ExitCode::data);
    }
  }
}

TEST_CASE("idx: Fashion-MNIST, the whole or a part of it") {
  const std::filesystem::path folder = test::source_path("../shared/data/fashion-mnist");
  SKIP_UNLESS(std::filesystem::exists(folder), "shared", "../shared/data/fashion-mnist is not there");
  const auto train = open(folder), test = open(folder, {}, false);
  for (const auto* dataset : {train.get(), test.get()}) {
    CHECK(dataset->size() % 100 == 0);
    CHECK(dataset->classes().size() == 10);
    std::vector<int> per_class(10);
    for (std::uint64_t id = 0; id < dataset->size(); ++id) ++per_class[dataset->label(id)];
    CHECK(*std::ranges::min_element(per_class) > 0);
    ReadBuffer buffer;
    const auto record = dataset->read(dataset->size() - 1, buffer);
    CHECK(record.bytes.size() == 28 * 28);
    CHECK(record.height == 28);
    CHECK(std::ranges::any_of(record.bytes, [](std::byte value) { return value != std::byte{0}; }));
  }
}

}  // namespace flowtrain::idx_test
