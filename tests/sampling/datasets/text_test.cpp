#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/text/text_files.h"
#include "sampling/named_dataset.h"
#include "sampling/sources/hold_out.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::text_test {
namespace {

namespace fs = std::filesystem;

using Texts = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open(const std::string& path, Values values = {}, bool training = true) {
  const auto entry = text_entry();
  values.emplace_back("path", path);
  return entry.make(settings_for(entry.keys, values), {training});
}

/// Returns the texts of all records, after checking that outlines tell their lengths.
Texts texts_of(const Dataset& set) {
  Texts texts;
  ReadBuffer buffer, outline_buffer;
  for (std::uint64_t id = 0; id < set.size(); ++id) {
    const auto record = set.read(id, buffer);
    REQUIRE(record.parts.size() == 1);
    CHECK(record.parts[0].name == "text");
    const auto bytes = record.parts[0].bytes;
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Record outline;
    REQUIRE(set.outline(id, outline, outline_buffer));
    CHECK(outline.parts[0].shape[0] == static_cast<std::int64_t>(bytes.size()));
  }
  return texts;
}

Texts names_of(const Dataset& set) {
  Texts names;
  for (std::uint64_t id = 0; id < set.size(); ++id) names.push_back(name_of(set, id));
  return names;
}

const Values by_line{{"unit", "line"}}, by_paragraph{{"unit", "paragraph"}};

Values windows(std::int64_t window) { return {{"window", window}}; }

/// A text of which each 40th line is blank.
std::string long_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i)
    text += i % 40 == 39 ? " \t\r\n" : concat("line ", i, std::string(i * 7919 % 90, 'x'), i % 3 == 0 ? "\r\n" : "\n");
  return text;
}

}  // namespace

TEST_CASE("text: each file of a folder is a record, sorted by path, at any depth") {
  TempFolder temp;
  temp.write("b.txt", "second\n");
  temp.write("a/z.txt", "first");
  temp.write("c.txt", "");
  temp.write("d.md", "another ending");
  temp.write(".hidden.txt", "hidden");
  const auto set = open(temp.path());
  CHECK(texts_of(*set) == Texts{"first", "second\n"});
  CHECK(set->describe(0) == (temp.path() / "a/z.txt").string());
  CHECK(names_of(*set) == Texts{"a/z.txt", "b.txt"});
  CHECK(texts_of(*open(temp.path() / "d.md")) == Texts{"another ending"});
  CHECK(texts_of(*open(temp.path(), {{"files", Texts{"*.md", "a/*"}}})) == Texts{"first", "another ending"});
  CHECK(texts_of(*open(temp.path() / "*.md")) == Texts{"another ending"});
  CHECK(texts_of(*open(temp.path() / "**/*.txt")) == Texts{"first", "second\n"});
}

TEST_CASE("text: patterns are those of paths") {
  CHECK(fits_pattern("*.md", "a/b/c.md"));
  CHECK_FALSE(fits_pattern("*.md", "a/b.mdx"));
  CHECK(fits_pattern("a/*.md", "a/b.md"));
  CHECK_FALSE(fits_pattern("a/*.md", "a/b/c.md"));
  CHECK_FALSE(fits_pattern("./*.md", "a/c.md"));
  CHECK(fits_pattern("./*.md", "c.md"));
  CHECK(fits_pattern("a/**/*.[ch]", "a/x.c"));
  CHECK(fits_pattern("a/**/*.[ch]", "a/b/c/x.h"));
  CHECK_FALSE(fits_pattern("a/**/*.[ch]", "b/x.h"));
  CHECK(fits_pattern("**", "a/b"));
  CHECK(fits_pattern("a/**/b/**/c", "a/b/b/x/c"));
  CHECK_FALSE(fits_pattern("a/**/b/**/c", "a/x/c"));
}

TEST_CASE("text: lines end at LF or CR LF, blank ones and a byte order mark are no records") {
  TempFolder temp;
  const auto path = temp.write("a.txt", "\xef\xbb\xbf one\r\n\n \t\r\n\ttwo\r\r\nthree\rstill\nno newline").string();
  const auto set = open(path, by_line);
  CHECK(texts_of(*set) == Texts{" one", "\ttwo\r", "three\rstill", "no newline"});
  CHECK(set->describe(1) == path + ", byte 14");
  CHECK(names_of(*set) == Texts{"a.txt#0", "a.txt#1", "a.txt#2", "a.txt#3"});
}

TEST_CASE("text: paragraphs are the lines between blank ones, as they are") {
  TempFolder temp;
  const auto path = temp.write("a.txt", "\n\na\r\nb\r\n\r\n \nc\n\n\nd\ne").string();
  CHECK(texts_of(*open(path, by_paragraph)) == Texts{"a\r\nb", "c", "d\ne"});
  CHECK(texts_of(*open(temp.write("b.txt", "only\n"), by_paragraph)) == Texts{"only"});
}

TEST_CASE("text: windows overlap by one byte, and stay within a file") {
  TempFolder temp;
  temp.write("a.txt",
             "\xef\xbb\xbf"
             "abcdefg");
  temp.write("b.txt", "x");
  temp.write("c.txt", "1234");
  const auto set = open(temp.path(), windows(3));
  CHECK(texts_of(*set) == Texts{"abcd", "defg", "1234"});
  CHECK(names_of(*set) == Texts{"a.txt", "a.txt", "c.txt"});
  CHECK(texts_of(*open(temp.path(), windows(2))) == Texts{"abc", "cde", "efg", "123", "34"});
  CHECK(names_of(*open(temp.path() / "a.txt", windows(3))) == Texts{"a.txt#0", "a.txt#1"});
  check_failure(failure_of([&] {
                  open(temp.path(), {{"window", std::int64_t{2}}, {"unit", "line"}});
                }),
                ExitCode::usage, "data.window: windows are pieces of whole files, but unit is \"line\"");
}

TEST_CASE("text: what is no text is one damaged record, unless it is kept") {
  TempFolder temp;
  const auto path = temp.write("a.txt", std::string("fine\nbro\xffken\nze\0ro\nend", 22)).string();
  const auto set = open(path, by_line);
  REQUIRE(set->size() == 4);
  ReadBuffer buffer;
  CHECK(std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()) ==
        path + ", byte 5: the text is not UTF-8 at byte 3");
  CHECK(std::string(failure_of<SampleError>([&] { set->read(2, buffer); }).what()) ==
        path + ", byte 13: it is no text: there is a zero byte at byte 2 of it");
  CHECK(texts_of(*open(path, {{"unit", "line"}, {"check", false}})) ==
        Texts{"fine", "bro\xffken", std::string("ze\0ro", 5), "end"});
  check_failure(failure_of([&] {
                  open(temp.write("u.txt", std::string("\xff\xfe"
                                                       "a\0",
                                                       4)),
                       by_line);
                }),
                ExitCode::data, "u.txt: the file is in UTF-16");
}

TEST_CASE("text: a window may cut characters at its ends, but holds no broken ones") {
  TempFolder temp;
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 3 == 0 ? "a" : i % 3 == 1 ? "\xc3\xa4" : "\xf0\x9f\x98\x80";
  for (std::int64_t window = 1; window < 30; ++window)
    CHECK(texts_of(*open(temp.write("a.txt", text), windows(window))).size() == (text.size() - 2) / window + 1);
  const auto set = open(temp.write("b.txt",
                                   "abcd\xff"
                                   "efghij"),
                        windows(20));
  ReadBuffer buffer;
  CHECK_THROWS_AS(set->read(0, buffer), SampleError);
}

TEST_CASE("text: a file that is cut after the start makes damaged records") {
  TempFolder temp;
  const auto path = temp.write("a.txt", "first line\nsecond line\nthird line\n");
  const auto set = open(path, by_line);
  fs::resize_file(path, 15);
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).parts[0].bytes.size() == 10);
  CHECK(
      std::string(failure_of<SampleError>([&] { set->read(1, buffer); }).what()).find("the file ends 7 bytes early") !=
      std::string::npos);
}

TEST_CASE("text: a folder without texts says which files it has") {
  TempFolder temp;
  temp.write("a.md", "x");
  temp.write("b/c.md", "x");
  temp.write("LICENSE", "x");
  const auto failure = failure_of<EmptyDataset>([&] { open(temp.path()); });
  check_failure(failure, ExitCode::data,
                temp.path().string() + ": no file fits data.files = [\"*.txt\"]; there are 1 without an ending, 2 .md");
  CHECK(failure.hint().find("data.files = ") != std::string::npos);
  check_failure(failure_of<EmptyDataset>([&] { open(temp.path() / "b" / "*.rst"); }), ExitCode::data,
                concat(": no file fits data.path = \"", (temp.path() / "b" / "*.rst").string(), "\"; there are 1 .md"));
  temp.write("d/empty.txt", "");
  CHECK_THROWS_AS(open(temp.path() / "d"), EmptyDataset);
  temp.write("d/blank.txt", "\n \n\r\n");
  CHECK_THROWS_AS(open(temp.path() / "d", by_line), EmptyDataset);
  check_failure(failure_of([&] { open(temp.path() / "none.txt"); }), ExitCode::data, "data.path: no such file: ");
}

TEST_CASE("text: names of folders and files divide it into splits, and data.split names others") {
  TempFolder temp;
  temp.write("a/train/x.txt", "train x");
  temp.write("a/train/b/y.txt", "train y");
  temp.write("a/val/z.txt", "val");
  temp.write("f/train.txt", "to train");
  temp.write("f/test.txt", "to test");
  CHECK(texts_of(*open(temp.path() / "a")) == Texts{"train y", "train x"});
  CHECK(texts_of(*open(temp.path() / "a", {}, false)) == Texts{"val"});
  CHECK(texts_of(*open(temp.path() / "f")) == Texts{"to train"});
  CHECK(texts_of(*open(temp.path() / "f", {}, false)) == Texts{"to test"});
  CHECK(dynamic_cast<const NamedDataset&>(*open(temp.path() / "f")).has_split());
  CHECK(texts_of(*open(temp.path() / "f", {{"split", "Test"}})) == Texts{"to test"});
  CHECK(texts_of(*open(temp.path() / "a", {{"split", "train/b"}})) == Texts{"train y"});
  CHECK(texts_of(*open(temp.path() / "f", {{"split_names", "ignore"}})) == Texts{"to test", "to train"});
  check_failure(failure_of([&] {
                  open(temp.path() / "f", {{"split", "dev"}});
                }),
                ExitCode::data, "no file or folder 'dev' with texts in ");
  temp.write("a/other/x.txt", "another");
  temp.write("a/root.txt", "a file beside the folders");
  CHECK(dynamic_cast<const NamedDataset&>(*open(temp.path() / "a")).notes() ==
        Texts{"not used: the folders other", "not used: the files root"});
  temp.write("w/one/more/train/x.txt", "inner");
  temp.write("w/one/more/val/x.txt", "inner val");
  CHECK(texts_of(*open(temp.path() / "w")) == Texts{"inner"});
  CHECK(texts_of(*open(temp.path() / "w", {{"split", "val"}})) == Texts{"inner val"});
  temp.write("t/test.txt", "a title");
  temp.write("t/other.txt", "another one");
  CHECK(texts_of(*open(temp.path() / "t")) == Texts{"another one", "a title"});
}

TEST_CASE("text: a tenth of the files, or of the lines, can be held out by their names") {
  TempFolder temp;
  for (int i = 0; i < 20; ++i) temp.write(concat(i, ".txt"), concat("a\nb\nc", i));
  const auto lines = hold_out(*open(temp.path(), by_line), 0.1, {});
  CHECK(lines.validation.size() == 6);
  const auto set = open(temp.path(), windows(1));
  const auto whole = hold_out(*set, 0.1, {});
  std::set<std::string> files;
  for (const auto id : whole.validation) files.insert(name_of(*set, id));
  CHECK(files.size() == 2);
  for (const auto id : whole.training) CHECK(files.count(name_of(*set, id)) == 0);
}

TEST_CASE("text: of few files the smallest one is held out") {
  TempFolder temp;
  for (int i = 0; i < 3; ++i) temp.write(concat(i, ".txt"), std::string(static_cast<std::size_t>(100 + i), 'a'));
  const auto set = open(temp.path(), windows(1));
  const auto split = hold_out(*set, 0.1, {});
  CHECK(split.validation.size() == 99);
  CHECK(split.training.size() == 100 + 101);
  for (const auto id : split.validation) CHECK(name_of(*set, id) == "0.txt");
}

TEST_CASE("text: the index of a large file is kept, and is that of a scan") {
  TempFolder temp;
  const auto text = long_text(60'000);
  const auto path = temp.write("a.txt", text);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  for (const auto& unit : {by_line, by_paragraph}) {
    const auto first = open(path, unit);
    REQUIRE(fs::exists(temp.path() / "a.txt.index"));
    const auto again = open(path, unit);
    CHECK(first->fingerprint() == again->fingerprint());
    CHECK(first->size() == again->size());
    CHECK(texts_of(*first) == texts_of(*again));
  }
  CHECK(open(path, by_line)->size() == 58'500);
  CHECK(open(path, by_paragraph)->size() == 1'500);
  // A file that flowtrain wrote is no text of the folder.
  temp.write("val_share-0.1.tsv", "split\tname\n");
  CHECK(open(temp.path(), {{"files", Texts{"*"}}})->size() == 1);
}

TEST_CASE("text: pieces of a file that are scanned apart make the index of the whole") {
  TempFolder temp;
  const auto path = temp.write("a.txt", "\n" + long_text(300) + "\n\n last");
  const auto file = Descriptor::file(path.c_str());
  for (const auto unit : {TextUnit::line, TextUnit::paragraph}) {
    const auto whole = scan_text(file, unit, 0, file.size_bytes());
    for (const std::uint64_t step : {1, 7, 100, 5'000, 1'000'000}) {
      TextIndex joined;
      for (std::uint64_t begin = 0; begin < file.size_bytes();) {
        const auto end = record_border(file, unit, begin + step, file.size_bytes());
        joined.append(scan_text(file, unit, begin, end));
        begin = end;
      }
      REQUIRE(joined.size() == whole.size());
      for (std::uint64_t i = 0; i < whole.size(); ++i) CHECK(joined[i] == whole[i]);
    }
    const auto parsed = TextIndex::parse(whole.bytes(), file.size_bytes());
    REQUIRE(parsed);
    CHECK((*parsed)[whole.size() - 1] == whole[whole.size() - 1]);
    CHECK_FALSE(TextIndex::parse(whole.bytes(), file.size_bytes() - 1));
    CHECK_FALSE(TextIndex::parse(whole.bytes().first(whole.bytes().size() - 1), file.size_bytes()));
  }
}

TEST_CASE("text: a server's files are named one by one, or by a pattern") {
  std::map<std::string, std::string> files{{"/a/p-0.txt", "one\ntwo\n"}, {"/a/p-1.txt", "three"}};
  HttpServer server([&](const HttpServer::Request& request, int) {
    const auto found = files.find(request.target);
    return found == files.end() ? HttpServer::Reply{.status = 404} : HttpServer::range_of(found->second, request);
  });
  CHECK(texts_of(*open(server.url("a/p-{0..1}.txt"), by_line)) == Texts{"one", "two", "three"});
  const auto set = open(server.url("a"), {{"files", Texts{"p-1.txt", "p-0.txt"}}});
  CHECK(texts_of(*set) == Texts{"three", "one\ntwo\n"});
  CHECK(names_of(*set) == Texts{"p-1.txt", "p-0.txt"});
  check_failure(failure_of([&] { open(server.url("a/")); }), ExitCode::data, "a folder on a server cannot be listed: ");
  check_failure(failure_of([&] { open(server.url("a/none.txt")); }), ExitCode::data, "none.txt: ");
}

}  // namespace flowtrain::text_test
