#include "pipeline/runs/run_reader/appended_lines.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace flowtrain::appended_lines_test {

namespace {

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

}  // namespace

TEST_CASE("only what was appended is read, and only whole lines") {
  const TempFolder folder;
  const auto file = folder.write("metrics.jsonl", "one\ntwo\nthr");
  auto read = read_appended(file, {});
  CHECK(read.text == "one\ntwo\n");
  CHECK(read.next.offset == 8);
  auto again = read_appended(file, read.next);
  CHECK(again.text.empty());
  CHECK(again.next == read.next);
  append(file, "ee\nfour\n");
  read = read_appended(file, read.next);
  CHECK(read.text == "three\nfour\n");
  CHECK(!read.restarted);
}

TEST_CASE("a file that was cut back is read from its beginning") {
  const TempFolder folder;
  const auto file = folder.write("metrics.jsonl", "one\ntwo\nthree\n");
  const auto mark = read_appended(file, {}).next;
  SUBCASE("shorter") {
    folder.write("metrics.jsonl", "one\n");
    const auto read = read_appended(file, mark);
    CHECK(read.restarted);
    CHECK(read.text == "one\n");
  }
  SUBCASE("and has grown again, to the same size or beyond") {
    for (const std::string text : {"one\ntwo\nTHREE\n", "one\n2\nthree, and more\n"}) {
      folder.write("metrics.jsonl", text);
      const auto read = read_appended(file, mark);
      CHECK(read.restarted);
      CHECK(read.text == text);
    }
  }
  SUBCASE("replaced by the same lines, as by a copy") {
    folder.write("new", "one\ntwo\nthree\nfour\n");
    std::filesystem::rename(folder.path() / "new", file);
    const auto read = read_appended(file, mark);
    CHECK(!read.restarted);
    CHECK(read.text == "four\n");
  }
  SUBCASE("gone") {
    std::filesystem::remove(file);
    const auto read = read_appended(file, mark);
    CHECK(read.restarted);
    CHECK(read.text.empty());
    CHECK(read.next == ReadMark{});
  }
}

TEST_CASE("a long file is read in parts, a line longer than a part as a whole") {
  const TempFolder folder;
  const std::string longest(1000, 'x');
  const auto file = folder.write("metrics.jsonl", "one\ntwo\n" + longest + "\nend\n");
  std::string text;
  int parts = 0;
  for (ReadMark mark;; ++parts) {
    const auto read = read_appended(file, mark, 10);
    if (read.text.empty()) break;
    text += read.text;
    mark = read.next;
  }
  CHECK(text == "one\ntwo\n" + longest + "\nend\n");
  CHECK(parts >= 2);
}

TEST_CASE("a line that is too long is passed over") {
  const TempFolder folder;
  const std::string longest(1000, 'x');
  const auto file = folder.write("metrics.jsonl", "one\n" + longest + "\nend\n");
  auto read = read_appended(file, {}, 10, 100);
  CHECK(read.text == "one\n");
  read = read_appended(file, read.next, 10, 100);
  CHECK(read.text == "end\n");
  CHECK(read_appended(file, read.next, 10, 100).text.empty());

  append(file, longest);  // without its end yet
  read = read_appended(file, read.next, 10, 100);
  CHECK(read.text.empty());
  CHECK(read.next.offset == std::filesystem::file_size(file));
  append(file, "\nnext\n");
  CHECK(read_appended(file, read.next, 10, 100).text == "\nnext\n");
}

TEST_CASE("what is no file is empty") {
  const TempFolder folder;
  CHECK(read_appended(folder.path(), {}).text.empty());
  CHECK(read_appended(folder.path() / "none", {}).text.empty());
  CHECK(!read_appended(folder.path() / "none", {}).restarted);
}

TEST_CASE("the mark at the end is behind the last whole line") {
  const TempFolder folder;
  const auto file = folder.write("metrics.jsonl", "one\ntwo\nthr");
  CHECK(mark_at_end(file) == read_appended(file, {}).next);
  append(file, "ee\n");
  CHECK(read_appended(file, mark_at_end(folder.write("metrics.jsonl", "one\ntwo\nthr"))).text.empty());
  CHECK(mark_at_end(folder.write("other", "no end")) == ReadMark{});
}

TEST_CASE("the mark near the end is at the beginning of a line") {
  const TempFolder folder;
  const auto file = folder.write("train.log", "one\ntwo\nthree\n");
  CHECK(mark_near_end(file, 100) == ReadMark{});
  CHECK(read_appended(file, mark_near_end(file, 7)).text == "three\n");
  CHECK(read_appended(file, mark_near_end(file, 5)).text.empty());
  CHECK(mark_near_end(folder.path() / "none", 5) == ReadMark{});
}

}  // namespace flowtrain::appended_lines_test
