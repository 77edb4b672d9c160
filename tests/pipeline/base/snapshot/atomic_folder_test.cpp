#include "pipeline/base/snapshot/atomic_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "sampling/core/error.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::atomic_folder_test {

using namespace flowtrain::test;

TEST_CASE("atomic folder: nothing under the name before commit, all of it after") {
  TempFolder folder;
  {
    AtomicFolder target(folder / "a");
    target.write_file("one", "1");
    CHECK_FALSE(fs::exists(folder / "a"));
    CHECK(is_leftover(names(folder.path())));
    target.commit();
    CHECK(names(folder.path()) == "a");
  }
  CHECK(get(folder / "a/one") == "1");
  CHECK(names(folder.path()) == "a");
}

TEST_CASE("atomic folder: without commit nothing stays") {
  TempFolder folder;
  {
    AtomicFolder target(folder / "a");
    target.write_file("one", "1");
  }
  CHECK(names(folder.path()).empty());
}

TEST_CASE("atomic folder: what is there is replaced, whatever it is") {
  TempFolder folder;
  const auto commit = [&] {
    AtomicFolder target(folder / "a/");
    target.write_file("new", "2");
    target.commit();
    CHECK(names(folder.path()) == "a");
    CHECK(names(folder / "a") == "new");
  };
  SUBCASE("a full folder") {
    fs::create_directories(folder / "a/deep/er");
    put(folder / "a/old", "1");
    commit();
  }
  SUBCASE("an empty folder") {
    fs::create_directory(folder / "a");
    commit();
  }
  SUBCASE("a file") {
    put(folder / "a", "1");
    commit();
  }
  SUBCASE("a dangling link") {
    fs::create_symlink("nowhere", folder / "a");
    commit();
  }
}

TEST_CASE("atomic folder: errors name the path, the call and the reason") {
  TempFolder folder;
  put(folder / "file", "");
  const auto below_file = message_of([&] { AtomicFolder target(folder / "file/a"); });
  CHECK(contains(below_file, (folder / "file/a.tmp-").string()));
  CHECK(contains(below_file, ": mkdir: Not a directory"));
  CHECK(contains(message_of([&] { AtomicFolder target(folder / "none/a"); }), ": mkdir: No such file or directory"));

  AtomicFolder target(folder / "a");
  target.write_file("one", "1");
  const auto again = message_of([&] { target.write_file("one", "2"); });
  CHECK(contains(again, "/one: open: File exists"));
}

TEST_CASE("atomic folder: another process's leftovers are not in the way") {
  TempFolder folder;
  std::string first;
  {
    AtomicFolder probe(folder / "a");
    first = names(folder.path());
  }
  // The numbers count up from there; take the next few.
  const auto dash = first.rfind('-') + 1;
  const auto number = std::stoi(first.substr(dash));
  for (int i = 1; i <= 3; ++i) fs::create_directory(folder / (first.substr(0, dash) + std::to_string(number + i)));
  AtomicFolder target(folder / "a");
  target.commit();
  CHECK(fs::is_directory(folder / "a"));
}

TEST_CASE("atomic file: replaced wholly, or not at all") {
  TempFolder folder;
  put(folder / "f", "old");
  CHECK_THROWS_AS(write_file_atomically(folder / "f",
                                        [](File& file) {
                                          file.write("half");
                                          throw InternalError("stop");
                                        }),
                  InternalError);
  CHECK(get(folder / "f") == "old");
  write_file_atomically(folder / "f", [](File& file) { file.write("new"); });
  CHECK(get(folder / "f") == "new");
  CHECK(names(folder.path()) == "f");
  CHECK(contains(message_of([&] { write_file_atomically(folder / "none/f", [](File&) {}); }),
                 ": open: No such file or directory"));
}

TEST_CASE("swap_link: made, moved, and refused in a folder's place") {
  TempFolder folder;
  swap_link(folder.path(), "latest", "one");
  CHECK(fs::read_symlink(folder / "latest") == "one");
  swap_link(folder.path(), "latest", "two");
  CHECK(fs::read_symlink(folder / "latest") == "two");
  fs::create_directory(folder / "best");
  CHECK(contains(message_of([&] { swap_link(folder.path(), "best", "two"); }), "/best: rename: Is a directory"));
  CHECK(names(folder.path()) == "best latest");
}

TEST_CASE("trash: gone, with no leftovers") {
  TempFolder folder;
  fs::create_directories(folder / "a/b");
  put(folder / "a/b/c", "1");
  trash(folder / "a");
  CHECK(names(folder.path()).empty());
  CHECK(contains(message_of([&] { trash(folder / "a"); }), ": rename: No such file or directory"));
}

TEST_CASE("folders: made with all those above; a file in the way is named") {
  TempFolder folder;
  make_folders(folder / "a/b/c/");
  CHECK(fs::is_directory(folder / "a/b/c"));
  make_folders(folder / "a/b");
  put(folder / "f", "");
  CHECK(contains(message_of([&] { make_folders(folder / "f"); }), "/f: mkdir: Not a directory"));
  CHECK(contains(message_of([&] { make_folders(folder / "f/g"); }), "/f/g: mkdir: Not a directory"));
  CHECK(folder_of("a") == ".");
  CHECK(folder_of("a/b/") == "a");
}

TEST_CASE("files: pipes are refused without waiting, texts are bounded") {
  TempFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of([&] { File::open(folder / "pipe"); }), "/pipe: not a regular file"));
  put(folder / "f", "12345");
  CHECK(read_text(folder / "f", 5) == "12345");
  CHECK(contains(message_of([&] { read_text(folder / "f", 4); }), "/f: 5 bytes, at most 4 expected"));
}

}  // namespace flowtrain::atomic_folder_test
