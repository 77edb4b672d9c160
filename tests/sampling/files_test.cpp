#include "sampling/io/files.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::files_test {
namespace {

std::vector<std::string> names_of(const Files& files) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) names.emplace_back(files.name(i));
  return names;
}

std::string content(const Files& files, const std::string& name) {
  std::vector<std::byte> bytes;
  files.read(files.find(name).value(), bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("files: a folder and an archive of it look the same") {
  TempFolder temp;
  for (const char* name : {"b/2.txt", "a/1.txt", "a.txt", "a/.hidden", ".git/config", "empty"})
    temp.write(std::string("d/") + name, std::string("in ") + name);
  const auto tar = temp.write("d.tar", TarBytes()
                                           .entry("./b/2.txt", "in b/2.txt")
                                           .entry("a/1.txt", "in a/1.txt")
                                           .entry("a.txt", "in a.txt")
                                           .entry("a/.hidden", "x")
                                           .entry(".git/config", "x")
                                           .entry("empty", "in empty")
                                           .end());
  const auto folder = temp.path() / "d";
  for (const auto& path : {folder.string(), folder.string() + "/", tar.string()}) {
    CAPTURE(path);
    const Files files(path);
    CHECK(names_of(files) == std::vector<std::string>{"a.txt", "a/1.txt", "b/2.txt", "empty"});
    CHECK(content(files, "a/1.txt") == "in a/1.txt");
    CHECK(content(files, "b/2.txt") == "in b/2.txt");
    CHECK_FALSE(files.find("a"));
    CHECK_FALSE(files.find("zzz"));
    CHECK(files.range("a/") == std::pair<std::size_t, std::size_t>(1, 2));
    CHECK(files.range("a") == std::pair<std::size_t, std::size_t>(0, 2));
    CHECK(files.range("") == std::pair<std::size_t, std::size_t>(0, 4));
    CHECK(files.range("c").first == files.range("c").second);
  }
  CHECK(Files(folder).describe(1) == (folder / "a/1.txt").string());
  CHECK(Files(tar).describe(1) == tar.string() + ":a/1.txt");
}

TEST_CASE("files: links in a folder and in its archive give the same files") {
  TempFolder temp;
  for (const char* name : {"p/cat/1.png", "p/cat/2.png", "p/dog/1.png"}) temp.write(std::string("d/") + name, name);
  const auto folder = temp.path() / "d";
  std::filesystem::create_directory(folder / "p/none");
  std::filesystem::create_hard_link(folder / "p/cat/1.png", folder / "p/dog/hard.png");
  std::filesystem::create_symlink("../cat/2.png", folder / "p/dog/soft.png");
  std::filesystem::create_directory_symlink("p/cat", folder / "again");
  const auto link = [](TarBytes& bytes, const char* name, const char* target, char type) {
    bytes.entry(name, "", type, {{157, target}});
  };
  TarBytes bytes;
  link(bytes, "again", "p/cat", '2');
  bytes.entry("p/none/", "", '5').entry("p/cat/1.png", "p/cat/1.png").entry("p/cat/2.png", "p/cat/2.png");
  bytes.entry("p/dog/1.png", "p/dog/1.png");
  link(bytes, "p/dog/hard.png", "p/cat/1.png", '1');
  link(bytes, "p/dog/soft.png", "../cat/2.png", '2');
  const Files plain(folder), packed(temp.write("d.tar", bytes.end()));
  CHECK(names_of(packed) == names_of(plain));
  REQUIRE(packed.size() == 7);
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(content(packed, std::string(plain.name(i))) == content(plain, std::string(plain.name(i))));
  CHECK(plain.empty_folders() == std::vector<std::string>{"p/none"});
  CHECK(packed.empty_folders() == plain.empty_folders());
}

TEST_CASE("files: the later of two entries with one name counts") {
  TempFolder temp;
  const Files files(temp.write("d.tar", TarBytes().entry("a", "old").entry("b", "b").entry("a", "new").end()));
  CHECK(names_of(files) == std::vector<std::string>{"a", "b"});
  CHECK(content(files, "a") == "new");
}

TEST_CASE("files: a warm buffer is not allocated again") {
  TempFolder temp;
  temp.write("d/large", std::string(5000, 'x'));
  temp.write("d/small", "y");
  const Files files(temp.path() / "d");
  std::vector<std::byte> bytes;
  files.read(0, bytes);
  const auto* memory = bytes.data();
  files.read(1, bytes);
  CHECK(bytes.size() == 1);
  files.read(0, bytes);
  CHECK(bytes.size() == 5000);
  CHECK(bytes.data() == memory);
}

TEST_CASE("files: a file that is gone, cut or no file is a fault of one sample") {
  TempFolder temp;
  const auto gone = temp.write("d/a.jpg", "x");
  std::filesystem::create_symlink("nowhere", temp.path() / "d/b.jpg");
  REQUIRE(mkfifo((temp.path() / "d/c.jpg").c_str(), 0600) == 0);
  const Files files(temp.path() / "d");
  REQUIRE(files.size() == 3);
  std::filesystem::remove(gone);
  std::vector<std::byte> bytes;
  const auto message = [&](std::size_t file) {
    return std::string(failure_of<SampleError>([&] { files.read(file, bytes); }).what());
  };
  CHECK(message(0) == gone.string() + ": No such file or directory");
  CHECK(message(1) == (temp.path() / "d/b.jpg").string() + ": No such file or directory");
  CHECK(message(2) == (temp.path() / "d/c.jpg").string() + ": it is a pipe or a device, but a regular file is needed");

  const auto tar = temp.write("d.tar", TarBytes().entry("a", std::string(3000, 'x')).end());
  const Files archive(tar);
  std::filesystem::resize_file(tar, 1512);
  CHECK(std::string(failure_of<SampleError>([&] { archive.read(0, bytes); }).what()) ==
        tar.string() + ":a: the file ends 2000 bytes early: was it cut since?");
}

TEST_CASE("files: what cannot be listed") {
  TempFolder temp;
  check_failure(failure_of([&] { Files(temp.path() / "none"); }), ExitCode::data, "No such file or directory");
  check_failure(failure_of([&] { Files(temp.write("text", std::string(600, 'x'))); }), ExitCode::data,
                "the file is not a tar archive");
  temp.write("d/a", "");
  std::filesystem::create_directory_symlink(temp.path() / "d", temp.path() / "d/again");
  check_failure(failure_of([&] { Files(temp.path() / "d"); }), ExitCode::data, "nested deeper than 32");
}

TEST_CASE("open_files: errors say where the path was written") {
  const auto empty = failure_of([] { open_files(settings_for({})); });
  check_failure(empty, ExitCode::data, "needs a folder or a .tar archive");
  CHECK(empty.hint().find("data.path") != std::string::npos);
  const auto missing = failure_of([] { open_files(settings_for({}, {{"path", std::string("no/such")}})); });
  check_failure(missing, ExitCode::data, "test.toml:1:1");
  check_failure(missing, ExitCode::data, "no such folder or archive: no/such");
}

TEST_CASE("is_picture: by the ending alone") {
  for (const char* name : {"a.jpg", "b/c.JPEG", "d.e.Png", "f.jpe", "g.JFIF", "h.webp"}) CHECK(is_picture(name));
  for (const char* name : {"a.gif", "jpg", "a.jpg.txt", "", "a.", "a.jpg/b"}) CHECK_FALSE(is_picture(name));
}

}  // namespace
}  // namespace flowtrain::files_test
