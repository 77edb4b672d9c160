#include "sampling/datasets/kept_index.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_folder.h"

namespace flowtrain::kept_index_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

void age(const fs::path& path, std::chrono::seconds by = 1h) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - by);
}

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What a start now finds of the file at `path`.
std::optional<std::vector<std::byte>> recalled(const fs::path& path) {
  return KeptIndex(path.string(), Descriptor::file(path.c_str())).recall();
}

void keep(const fs::path& path, const std::string& text) {
  KeptIndex(path.string(), Descriptor::file(path.c_str())).keep(bytes_of(text));
}

TEST_CASE("kept index: what was kept comes back, whatever it is") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  age(file);
  CHECK_FALSE(recalled(file));
  for (const std::string& text : {std::string(), std::string("x"), std::string(100'000, 'y')}) {
    keep(file, text);
    REQUIRE(recalled(file));
    CHECK(*recalled(file) == bytes_of(text));
  }
  CHECK(std::distance(fs::directory_iterator(temp.path()), {}) == 2);
  CHECK(fs::status(temp.path() / "a.index").permissions() == (fs::status(file).permissions() & fs::perms(0666)));
}

TEST_CASE("kept index: another size or time is another file") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  age(file);
  keep(file, "found");
  age(file, 2h);
  CHECK_FALSE(recalled(file));
  keep(file, "found again");
  CHECK(recalled(file));
  const auto time = fs::last_write_time(file);
  fs::resize_file(file, 6);
  fs::last_write_time(file, time);
  CHECK_FALSE(recalled(file));
}

TEST_CASE("kept index: a file of the same size and time that was written anew is another file") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  age(file);
  keep(file, "found");
  REQUIRE(recalled(file));
  const auto time = fs::last_write_time(file);
  temp.write("a", "CONTENT");
  fs::last_write_time(file, time);
  CHECK_FALSE(recalled(file));
  keep(file, "found again");
  REQUIRE(recalled(file));
  const auto other = temp.write("b", "content");
  fs::last_write_time(other, time);
  fs::rename(other, file);
  CHECK_FALSE(recalled(file));
}

TEST_CASE("kept index: a damaged one is not trusted: every byte changed, every length") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  age(file);
  keep(file, "what was found");
  const auto whole = text_of(temp.path() / "a.index");
  REQUIRE(recalled(file));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    temp.write("a.index", damaged);
    CHECK_FALSE(recalled(file));
    temp.write("a.index", whole.substr(0, i));
    CHECK_FALSE(recalled(file));
  }
  temp.write("a.index", whole + "x");
  CHECK_FALSE(recalled(file));
  keep(file, "found anew");
  CHECK(*recalled(file) == bytes_of("found anew"));
}

TEST_CASE("kept index: none of a file that may still change, or has changed since") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  fs::last_write_time(file, fs::file_time_type::clock::now() + 1h);
  keep(file, "of a file that is being written");
  CHECK_FALSE(fs::exists(temp.path() / "a.index"));
  age(file);
  const KeptIndex before(file.string(), Descriptor::file(file.c_str()));
  temp.write("b", "CONTENT");
  age(temp.path() / "b", 2h);
  fs::rename(temp.path() / "b", file);
  before.keep(bytes_of("of the file that was there"));
  CHECK_FALSE(fs::exists(temp.path() / "a.index"));
  fs::remove(file);
  before.keep(bytes_of("of no file"));
  CHECK_FALSE(fs::exists(temp.path() / "a.index"));
}

TEST_CASE("kept index: what cannot be read or written is no error") {
  TempFolder temp;
  const auto file = temp.write("a", "content");
  age(file);
  temp.write("a.index/in-the-way", "");
  keep(file, "found");
  CHECK_FALSE(recalled(file));
  CHECK(std::distance(fs::directory_iterator(temp.path()), {}) == 2);
  fs::remove_all(temp.path() / "a.index");
  fs::create_symlink(temp.path() / "nowhere", temp.path() / "a.index");
  CHECK_FALSE(recalled(file));
  keep(file, "found");
  CHECK(recalled(file));
}

}  // namespace
}  // namespace flowtrain::kept_index_test
