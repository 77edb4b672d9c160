#include <doctest/doctest.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "sampling/datasets/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::tensors_test {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open(const std::filesystem::path& path, Values values = {}, bool training = true) {
  const auto entry = tensors_entry();
  values.emplace_back("path", path.string());
  return entry.make(settings_for(entry.keys, values), {training});
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A .npy file; `descr` is NumPy's name of the type.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  dict.append(63 - (10 + dict.size()) % 64, ' ') += '\n';
  std::string file = "\x93NUMPY";
  file += {'\1', '\0', static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  return file + dict + data;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A zip archive of files, deflated or not.
std::string zip(const std::vector<std::pair<std::string, std::string>>& files, bool deflated = false) {
  std::string all, directory;
  for (const auto& [name, data] : files) {
    std::string packed = data;
    if (deflated) {
      packed.resize(data.size() + 100);
      z_stream stream{};
      deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
      stream.avail_in = static_cast<uInt>(data.size());
      stream.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    std::string facts;  // of the local header and of the directory
    put<std::uint16_t>(facts, 20), put<std::uint16_t>(facts, 0), put<std::uint16_t>(facts, deflated ? 8 : 0);
    put<std::uint32_t>(facts, 0);
    put(facts, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(data.data()), data.size())));
    put(facts, static_cast<std::uint32_t>(packed.size())), put(facts, static_cast<std::uint32_t>(data.size()));
    put(facts, static_cast<std::uint16_t>(name.size())), put<std::uint16_t>(facts, 0);
    directory += std::string("PK\1\2") + std::string(2, '\0') + facts + std::string(10, '\0');
    put(directory, static_cast<std::uint32_t>(all.size()));
    directory += name;
    all += std::string("PK\3\4") + facts + name + packed;
  }
  const auto at = static_cast<std::uint32_t>(all.size());
  all += directory + std::string("PK\5\6") + std::string(4, '\0');
  put(all, static_cast<std::uint16_t>(files.size())), put(all, static_cast<std::uint16_t>(files.size()));
  put(all, static_cast<std::uint32_t>(directory.size())), put(all, at), put<std::uint16_t>(all, 0);
  return all;
}

std::string safetensors(const std::string& header, const std::string& data) {
  std::string file;
  put(file, static_cast<std::uint64_t>(header.size()));
  return file + header + data;
}

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// The values of one part of each record, one after the other.
template <class T>
std::vector<T> column(const Dataset& set, const std::string& name) {
  std::vector<T> all;
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < set.size(); ++id) {
    const auto record = set.read(id, buffer);
    const Part* part = record.part(name);
    REQUIRE(part);
    const auto values = values_of<T>(part->bytes);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

const std::string two_pictures = npy("|u1", "(2, 1, 3)", "abcdef"),
                  two_labels = npy("<i8", "(2,)", bytes_of<std::int64_t>({2, 0}));

TEST_CASE("tensors: the rows of an archive's arrays are records, deflated, in memory or in the file") {
  TempFolder temp;
  const std::vector<std::pair<std::string, std::string>> files{
      {"x.npy", two_pictures},
      {"y.npy", two_labels},
      {"h.npy", npy("<f2", "(2, 2)", std::string("\0\x3c\1\0\0\xfc\xff\x7b", 8))}};
  const auto stored = temp.write("a.npz", zip(files)), deflated = temp.write("b.npz", zip(files, true));
  for (const auto& set : {open(stored), open(deflated), open(stored, {{"memory_mb", std::int64_t{0}}})}) {
    REQUIRE(set->size() == 2);
    CHECK(set->classes() == Texts{"0", "1", "2"});
    CHECK(set->label(0) == 2);
    ReadBuffer buffer;
    const auto record = set->read(1, buffer);
    CHECK(record.encoding == Encoding::pixels);
    CHECK(record.height == 1);
    CHECK(record.width == 3);
    CHECK(record.channels == 1);
    CHECK(values_of<char>(record.bytes) == std::vector<char>{'d', 'e', 'f'});
    CHECK(record.label == 0);
    REQUIRE(set->parts().size() == 1);
    CHECK(set->parts()[0].name == "h");
    CHECK(set->parts()[0].dtype == DType::f32);
    CHECK(set->parts()[0].shape == std::vector<std::int64_t>{2});
    CHECK(column<float>(*set, "h") == std::vector<float>{1, 0x1p-24f, -std::numeric_limits<float>::infinity(), 65504});
    Record outline;
    REQUIRE(set->outline(1, outline, buffer));
    CHECK(outline.parts[0].shape[0] == 2);
    CHECK(outline.parts[0].bytes.empty());
    CHECK(outline.height == 1);
  }
  CHECK(open(stored)->resident());
  CHECK(open(deflated)->fingerprint() == open(stored)->fingerprint());
  CHECK_FALSE(open(stored, {{"memory_mb", std::int64_t{0}}})->resident());
  CHECK(open(stored)->describe(1) == stored.string() + " #1");
}

TEST_CASE("tensors: elements become the nearest type that holds them") {
  TempFolder temp;
  temp.write("d/b.npy", npy("|b1", "(2,)", std::string("\0\1", 2)));
  temp.write("d/c.npy", npy("|i1", "(2,)", "\xff\x05"));
  temp.write("d/d.npy", npy("<i2", "(2,)", bytes_of<std::int16_t>({-300, 300})));
  temp.write("d/e.npy", npy("<u2", "(2,)", bytes_of<std::uint16_t>({65535, 1})));
  temp.write("d/f.npy", npy("<u4", "(2,)", bytes_of<std::uint32_t>({4294967295U, 1})));
  temp.write("d/g.npy", npy("<u8", "(2,)", bytes_of<std::uint64_t>({9223372036854775807U, 1})));
  temp.write("d/h.npy", npy("<f8", "(2,)", bytes_of<double>({0.1, -2.5})));
  temp.write("d/i.npy", npy("<i4", "(2,)", bytes_of<std::int32_t>({-7, 7})));
  for (const std::int64_t memory_mb : {0, 1}) {
    const auto set = open(temp.path() / "d", {{"memory_mb", memory_mb}});
    CHECK(column<std::uint8_t>(*set, "b") == std::vector<std::uint8_t>{0, 1});
    CHECK(column<std::int32_t>(*set, "c") == std::vector{-1, 5});
    CHECK(column<std::int32_t>(*set, "d") == std::vector{-300, 300});
    CHECK(column<std::int32_t>(*set, "e") == std::vector{65535, 1});
    CHECK(column<std::int64_t>(*set, "f") == std::vector<std::int64_t>{4294967295, 1});
    CHECK(column<std::int64_t>(*set, "g") == std::vector<std::int64_t>{9223372036854775807, 1});
    CHECK(column<float>(*set, "h") == std::vector<float>{0.1F, -2.5F});
    CHECK(column<std::int32_t>(*set, "i") == std::vector{-7, 7});
    CHECK(set->classes().empty());
    ReadBuffer buffer;
    CHECK(set->read(0, buffer).encoding == Encoding::bytes);
    CHECK(set->read(0, buffer).parts[0].shape.empty());
  }
}

TEST_CASE("tensors: safetensors files of a folder follow one another in the order of their names") {
  TempFolder temp;
  const auto write = [&](const std::string& name, const std::string& records, const std::vector<std::int32_t>& values) {
    const auto bytes = std::to_string(values.size() * 4);
    return temp.write(
        name, safetensors(R"({"ids":{"dtype":"I32","shape":[)" + records + R"(,2],"data_offsets":[0,)" + bytes + "]}}",
                          bytes_of(values)));
  };
  const auto second = write("d/data-1.safetensors", "1", {5, 6});
  write("d/data-0.safetensors", "2", {1, 2, 3, 4});
  for (const std::int64_t memory_mb : {0, 1}) {
    const auto set = open(temp.path() / "d", {{"memory_mb", memory_mb}});
    REQUIRE(set->size() == 3);
    CHECK(column<std::int32_t>(*set, "ids") == std::vector{1, 2, 3, 4, 5, 6});
    CHECK(set->describe(2) == second.string() + " #0");
  }
  temp.write("d/data-2.safetensors",
             safetensors(R"({"ids":{"dtype":"I32","shape":[1,3],"data_offsets":[0,12]}})", std::string(12, '\0')));
  CHECK(std::string(failure_of([&] { open(temp.path() / "d"); }).what()) ==
        (temp.path() / "d/data-2.safetensors").string() + ": a record has the tensors 'ids' of i32 (3,), but in " +
            (temp.path() / "d/data-0.safetensors").string() + " 'ids' of i32 (2,)");
}

TEST_CASE("tensors: folders, files and tensors are divided by the usual names of splits") {
  TempFolder temp;
  const auto three = npy("<i8", "(3,)", bytes_of<std::int64_t>({0, 1, 1}));
  const auto sizes = [&](const std::string& folder) {
    return std::pair(open(temp.path() / folder)->size(), open(temp.path() / folder, {}, false)->size());
  };
  temp.write("folders/train/y.npy", three);
  temp.write("folders/val/y.npy", two_labels);
  CHECK(sizes("folders") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  temp.write("files/train.npz", zip({{"y.npy", three}}));
  temp.write("files/val.npz", zip({{"y.npy", two_labels}}));
  CHECK(sizes("files") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  CHECK(open(temp.path() / "files", {{"split", "val.npz"}})->size() == 2);
  temp.write("arrays/y_train.npy", three);
  temp.write("arrays/y_test.npy", two_labels);
  CHECK(sizes("arrays") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  CHECK(open(temp.path() / "arrays")->classes() == Texts{"0", "1"});
  temp.write("one.npz", zip({{"y_train.npy", three}, {"y_test.npy", two_labels}}));
  CHECK(sizes("one.npz") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  CHECK(open(temp.path() / "one.npz", {{"split", "test"}})->size() == 2);
  const auto pictures = npy("|u1", "(3, 1, 1)", "abc");
  temp.write("images.npz", zip({{"train_images.npy", pictures},
                                {"train_labels.npy", three},
                                {"val_images.npy", two_pictures},
                                {"val_labels.npy", two_labels}}));
  CHECK(sizes("images.npz") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  temp.write("images/train_images.npy", pictures);
  temp.write("images/train_labels.npy", three);
  temp.write("images/val_images.npy", two_pictures);
  temp.write("images/val_labels.npy", two_labels);
  CHECK(sizes("images") == std::pair<std::uint64_t, std::uint64_t>(3, 2));
  for (const auto* name : {"images.npz", "images"}) {
    const auto set = open(temp.path() / name);
    ReadBuffer buffer;
    CHECK(set->read(1, buffer).encoding == Encoding::pixels);
    CHECK(set->label(1) == 1);
  }
  CHECK(std::string(failure_of([&] {
                      open(temp.path() / "one.npz", {{"split", "val"}});
                    }).what()) == "test.toml:1:1: data.split: no tensors of " + (temp.path() / "one.npz").string() +
                                      " are named after the split 'val'");
  CHECK(std::string(failure_of([&] {
                      open(temp.path() / "files", {{"split", "dev"}});
                    }).what()) == "test.toml:1:1: data.split: no file or folder 'dev' with data in " +
                                      (temp.path() / "files").string() + "; there are train, val");
}

TEST_CASE("tensors: what is wrong is named whole") {
  TempFolder temp;
  const auto says = [&](const std::string& name, const std::string& bytes, Values values = {}) {
    const auto path = temp.write(name, bytes);
    const auto failure = failure_of([&] { open(path, std::move(values)); });
    CHECK(failure.code() == ExitCode::data);
    std::string what = failure.what();
    if (const auto at = what.find(path.string()); at != what.npos) what.replace(at, path.string().size(), "FILE");
    return what;
  };
  CHECK(says("a.npy", "no array at all") == "FILE: it is no .npy file");
  CHECK(says("a.npy", npy("<f4", "(2, 3)", "short")) ==
        "FILE: it is cut short: its header says 2 x 3 elements of f32, but 5 bytes follow");
  CHECK(says("a.npy", npy("<f4", "(4611686018427387904, 4)", "short")) ==
        "FILE: it is cut short: its header says 4611686018427387904 x 4 elements of f32, but 5 bytes follow");
  CHECK(says("a.npy", npy(">f4", "(1,)", "abcd")) == "FILE: the elements ('>f4') are big-endian");
  CHECK(says("a.npy", npy("|O", "(1,)", "abcd")) == "FILE: the elements are of NumPy's type '|O', expected numbers");
  CHECK(says("a.npy", npy("<f4", "(1, 1)", "abcd", "True")) ==
        "FILE: it is in Fortran's order: the first axis varies fastest");
  CHECK(says("a.npy", npy("<f4", "()", "abcd")) == "FILE: tensor 'a' is a single number");
  CHECK(says("a.npy", npy("<u8", "(1,)", std::string(8, '\xff'))) ==
        "FILE: tensor 'a': the element 18446744073709551615 of u64 is beyond i64");
  CHECK(says("y.npy", npy("<i2", "(2,)", bytes_of<std::int16_t>({0, -1}))) == "FILE: tensor 'y' #1: label -1");
  CHECK(says("a.npz", "no archive") == "FILE: it is no zip archive, or cut short");
  CHECK(says("a.npz", zip({{"a.txt", "x"}})) == "FILE:a.txt: it is no .npy file");
  CHECK(says("a.npz", zip({{"x.npy", two_pictures}, {"z.npy", npy("|u1", "(3,)", "abc")}})) ==
        "FILE: tensor 'z' has 3 records, but 'x' has 2");
  CHECK(says("a.npz", zip({{"x_train.npy", two_pictures},
                           {"y_train.npy", npy("|u1", "(3,)", "abc")},
                           {"x_test.npy", two_pictures},
                           {"y_test.npy", two_labels}})) ==
        "FILE: tensor 'y_train' has 3 records, but 'x_train' has 2");
  auto damaged = zip({{"x.npy", npy("|u1", "(100,)", std::string(100, 'x'))}}, true);
  damaged[14] = static_cast<char>(damaged[14] ^ 1);
  damaged[damaged.rfind("PK\1\2") + 16] = damaged[14];
  CHECK(says("a.npz", damaged) == "FILE:x.npy: damaged data: its checksum is wrong");
  CHECK(says("a.npz", zip({{"x.npy", two_pictures}}).substr(0, 90)) == "FILE: it is no zip archive, or cut short");
  CHECK(says("a.npy", two_labels, {{"label", "b"}}) == "test.toml:1:1: data.label: there is no tensor 'b' in FILE");
  CHECK(says("a.npy", npy("<f4", "(1,)", "abcd"), {{"label", "a"}}) ==
        "test.toml:1:1: data.label: tensor 'a' of FILE is f32 (1,), expected a vector of integers");
  CHECK(says("y.npy", two_labels, {{"class_names", Texts{"cat", "dog"}}}) ==
        "test.toml:1:1: data.class_names: names 2 classes, but FILE #0 has label 2");
  CHECK(says("a.safetensors", "123") == "FILE: 3 bytes are no safetensors file");
  CHECK(says("a.npy", npy("<f4", "(0, 3)", "")) == "FILE: there are no records: the first axis of each tensor is 0");
  CHECK(says("a.txt", "x") == "test.toml:1:1: data.path: FILE is no .npz or .npy or .safetensors");
}

TEST_CASE("tensors: a file that is cut after it was opened gives bad samples") {
  TempFolder temp;
  const auto path = temp.write("a.npy", npy("<f4", "(2,)", "abcdefgh"));
  const auto set = open(path, {{"memory_mb", std::int64_t{0}}});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  ReadBuffer buffer;
  CHECK_NOTHROW(set->read(0, buffer));
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path.string() + " #1: the file ends 4 bytes early: was it cut since?");
}

}  // namespace
}  // namespace flowtrain::tensors_test
