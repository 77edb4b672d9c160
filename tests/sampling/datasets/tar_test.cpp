#include "sampling/io/tar.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/io/descriptor.h"
#include "tests/support/failure_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::tar_test {
namespace {

struct Found {
  std::string name, data;
  bool operator==(const Found&) const = default;
};

std::vector<Found> scan(const std::string& bytes) {
  TempFolder temp;
  const auto path = temp.write("a.tar", bytes).string();
  const auto file = Descriptor::file(path.c_str());
  std::vector<Found> found;
  scan_tar(file, "a.tar", [&](const TarEntry& entry) {
    std::vector<std::byte> data;
    read_exactly(file, entry.offset, entry.size_bytes, data);
    found.push_back({std::string(entry.name), std::string(reinterpret_cast<const char*>(data.data()), data.size())});
  });
  return found;
}

void check_refused(const std::string& bytes, const std::string& part) {
  const auto failure = failure_of([&] { scan(bytes); });
  check_failure(failure, ExitCode::data, part);
  check_failure(failure, ExitCode::data, "a.tar: at byte ");
}

TEST_CASE("tar: files are found where they lie") {
  const std::string long_data(1300, 'x');
  const auto bytes =
      TarBytes().entry("./a.txt", "alpha").entry("dir/", "", '5').entry("dir/b", long_data).entry("empty", "").end();
  CHECK(scan(bytes) == std::vector<Found>{{"a.txt", "alpha"}, {"dir/b", long_data}, {"empty", ""}});
  CHECK(scan(TarBytes().end()).empty());
}

TEST_CASE("tar: the ways to write names and sizes") {
  using namespace std::string_view_literals;
  const std::string name(300, 'n');
  SUBCASE("ustar prefix") {
    CHECK(scan(TarBytes().entry("b", "1", '0', {{345, "some/prefix"}}).end()) ==
          std::vector<Found>{{"some/prefix/b", "1"}});
  }
  SUBCASE("a name of 100 characters has no zero at its end") {
    CHECK(scan(TarBytes().entry(name.substr(0, 100), "1").end()) == std::vector<Found>{{name.substr(0, 100), "1"}});
  }
  SUBCASE("GNU's own header has no prefix") {
    CHECK(scan(TarBytes().entry("b", "1", '0', {{257, "ustar  \0"sv}, {345, "12345"}}).end()) ==
          std::vector<Found>{{"b", "1"}});
  }
  SUBCASE("GNU long name, for one entry only") {
    CHECK(scan(TarBytes().entry("././@LongLink", name + '\0', 'L').entry("short", "1").entry("next", "2").end()) ==
          std::vector<Found>{{name, "1"}, {"next", "2"}});
  }
  SUBCASE("pax path and size, for one entry only") {
    const auto bytes = TarBytes()
                           .pax("path", name)
                           .pax("size", "3")
                           .entry("short", "abc", '0', {{124, "00000000000"}})
                           .entry("next", "2")
                           .end();
    CHECK(scan(bytes) == std::vector<Found>{{name, "abc"}, {"next", "2"}});
  }
  SUBCASE("global pax headers are ignored") {
    CHECK(scan(TarBytes().entry("pax_global_header", "52 comment=x\n", 'g').entry("b", "1").end()) ==
          std::vector<Found>{{"b", "1"}});
  }
  SUBCASE("v7: no magic, type zero, sizes with spaces; a folder is told by its slash") {
    CHECK(scan(TarBytes()
                   .entry("old", "abc", '\0', {{257, "\0\0\0\0\0\0\0\0"sv}, {124, "         3 \0"sv}})
                   .entry("folder/", "", '\0')
                   .end()) == std::vector<Found>{{"old", "abc"}});
  }
  SUBCASE("base 256") {
    CHECK(scan(TarBytes().entry("b", "abc", '0', {{124, "\x80\0\0\0\0\0\0\0\0\0\0\3"sv}}).end()) ==
          std::vector<Found>{{"b", "abc"}});
  }
}

std::vector<std::string> warnings;

std::vector<Found> scan_and_warn(const std::string& bytes) {
  warnings.clear();
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  auto found = scan(bytes);
  set_warning_sink(nullptr);
  return found;
}

/// An entry for a link to `target`, hard ('1') or symbolic ('2').
TarBytes& link(TarBytes& bytes, std::string_view name, std::string_view target, char type) {
  return bytes.entry(name, "", type, {{157, target}});
}

struct Member {
  std::string_view name, content;  ///< `content`: of a link its target
  char type = '0';
};

std::string tar_of(const std::vector<Member>& members) {
  TarBytes bytes;
  for (const auto& [name, content, type] : members)
    type == '0' ? bytes.entry(name, content) : link(bytes, name, content, type);
  return bytes.end();
}

TEST_CASE("tar: links are the files that they lead to, wherever these stand") {
  // A further name of a symbolic link ("a/hard 2.txt") leads from where it stands.
  CHECK(scan_and_warn(tar_of({{"./a/1.txt", "one"},
                              {"a/hard.txt", "./a/1.txt", '1'},
                              {"b/up.txt", "../a/1.txt", '2'},
                              {"b/later.txt", "c/2.txt", '2'},
                              {"b/of hard.txt", "../a/hard.txt", '2'},
                              {"b/c/2.txt", "two"},
                              {"a/hard 2.txt", "b/up.txt", '1'},
                              {"whole", "b/c", '2'},
                              {"through.txt", "whole/2.txt", '2'}})) == std::vector<Found>{{"a/1.txt", "one"},
                                                                                           {"a/hard.txt", "one"},
                                                                                           {"b/up.txt", "one"},
                                                                                           {"b/later.txt", "two"},
                                                                                           {"b/of hard.txt", "one"},
                                                                                           {"b/c/2.txt", "two"},
                                                                                           {"a/hard 2.txt", "one"},
                                                                                           {"whole/2.txt", "two"},
                                                                                           {"through.txt", "two"}});
  CHECK(warnings.empty());
}

TEST_CASE("tar: long names of links, as GNU and pax write them, hold for one entry") {
  const std::string target = std::string(150, 't') + "/1.txt";
  TarBytes bytes;
  bytes.pax("path", target).entry("x", "one");
  bytes.entry("././@LongLink", target + '\0', 'K');
  link(bytes, "gnu", "cut", '2');
  bytes.pax("linkpath", target);
  link(bytes, "pax", "cut", '1');
  link(bytes, "next", "pax", '2');
  CHECK(scan_and_warn(bytes.end()) ==
        std::vector<Found>{{target, "one"}, {"gnu", "one"}, {"pax", "one"}, {"next", "one"}});
}

TEST_CASE("tar: links that lead out of the archive or nowhere are counted and named, circles are refused") {
  CHECK(scan_and_warn(tar_of({{"a/1.txt", "one"},
                              {"absolute", "/etc/passwd", '2'},
                              {"out", "../a/1.txt", '2'},
                              {"a/out", "../../a/1.txt", '2'},
                              {"nowhere", "b", '2'},
                              {"self", "self", '2'},
                              {"hard", "b", '1'},
                              {"../up", "x"}})) == std::vector<Found>{{"a/1.txt", "one"}});
  CHECK(warnings ==
        std::vector<std::string>{"a.tar: 7 entries are left out: they lead out of the archive or nowhere: absolute -> "
                                 "/etc/passwd, out -> ../a/1.txt, a/out -> ../../a/1.txt, …"});
  for (const char* target : {"..", "../a", "."}) {
    const auto circle = tar_of({{"a/1.txt", "one"}, {"a/back", target, '2'}});
    check_failure(failure_of([&] { scan(circle); }), ExitCode::data,
                  "a.tar: the link a/back leads back to a folder above it");
  }
}

TEST_CASE("tar: links that would list the same folders millions of times are refused") {
  for (const bool has_file : {true, false}) {
    TarBytes bytes;
    for (int level = 0; level < 8; ++level)
      for (int i = 0; i < 12; ++i) link(bytes, concat("level", level, "/", i), concat("../level", level + 1), '2');
    bytes.entry("level8/1.txt", has_file ? "one" : "", has_file ? '0' : '5');
    check_failure(failure_of([&] { scan(bytes.end()); }), ExitCode::data, "list folders over and over");
  }
  TarBytes bytes;
  std::string far;
  for (int i = 0; i < 100'000; ++i) far += "a/";
  bytes.pax("linkpath", far);
  link(bytes, "x", "cut", '2');
  CHECK(scan_and_warn(bytes.end()).empty());
  CHECK(warnings.size() == 1);
}

TEST_CASE("tar: what is no file below the archive's folder is skipped") {
  const auto bytes = TarBytes()
                         .entry("link", "", '2', {{124, "00000001000"}})
                         .entry("device", "", '3')
                         .entry("/etc/./passwd", "root's")
                         .entry("//b//c", "slashes")
                         .entry("../up", "x")
                         .entry("a/../b", "x")
                         .entry("a/..", "x")
                         .entry("", "x")
                         .entry("vendor", "skipped", 'Z')
                         .entry("a..b/..c", "kept")
                         .end();
  CHECK(scan(bytes) == std::vector<Found>{{"etc/passwd", "root's"}, {"b/c", "slashes"}, {"a..b/..c", "kept"}});
}

TEST_CASE("tar: damage is refused with file and offset") {
  using namespace std::string_view_literals;
  SUBCASE("no tar") {
    check_refused(std::string(2048, 'x'), "at byte 0: the file is not a tar archive");
    check_refused("", "at byte 0: there is no end mark");
    check_refused("short", "at byte 0: there is no end mark");
  }
  SUBCASE("a later header") {
    auto bytes = TarBytes().entry("a", "1").entry("b", "2").end();
    bytes[1024] = 'B';
    check_refused(bytes, "at byte 1024: the header's checksum is wrong");
  }
  SUBCASE("cut at any place") {
    const auto bytes = TarBytes().entry("a", std::string(600, '1')).entry("b", "2").bytes();
    for (std::size_t size = 0; size <= bytes.size(); size += 37) check_refused(bytes.substr(0, size), "");
    check_refused(bytes.substr(0, 800), "at byte 0: an entry has 600 bytes, but the file ends after 288");
    check_refused(bytes, "at byte 2560: there is no end mark");
  }
  SUBCASE("sizes") {
    check_refused(TarBytes().entry("a", "", '0', {{124, "77777777777"}}).end(), "truncated");
    check_refused(TarBytes().entry("a", "", '0', {{124, "12x"}}).end(), "size is not a number");
    check_refused(TarBytes().entry("a", "", '0', {{124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv}}).end(),
                  "size is not a number");
    check_refused(TarBytes().entry("a", "", '0', {{124, "\x80\0\0\1\0\0\0\0\0\0\0\0"sv}}).end(),
                  "size is not a number");
    check_refused(TarBytes().entry("a", "", '0', {{124, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"sv}}).end(),
                  "truncated");
    check_refused(TarBytes().pax("size", "18446744073709551615").entry("a", "").end(), "truncated");
    check_refused(TarBytes().pax("size", "18446744073709551616").entry("a", "").end(), "a pax size is damaged");
    check_refused(TarBytes().pax("size", "-1").entry("a", "").end(), "a pax size is damaged");
  }
  SUBCASE("extensions") {
    check_refused(TarBytes().entry("x", std::string((1 << 20) + 1, 'n'), 'L').end(), "a name has 1048577 bytes");
    for (const auto* records : {"6 a=b", "99 path=x\n", "0 a=b\n", "6a=bcd\n", "7 abcd\n", "junk", "3 \n", "2 "})
      check_refused(TarBytes().entry("x", records, 'x').end(), "a pax header is damaged");
  }
  SUBCASE("sparse files") {
    check_refused(TarBytes().entry("a", "", 'S').end(), "sparse");
    check_refused(TarBytes().pax("GNU.sparse.major", "1").entry("a", "").end(), "sparse");
  }
}

TEST_CASE("tar: random damage is either read or refused") {
  const auto whole = TarBytes().pax("path", "long").entry("a", "12345").entry("x", "name", 'L').entry("b", "").end();
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    auto bytes = whole;
    for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    // Half of them with a right checksum, so that the damage gets past it.
    if (round % 2)
      for (std::size_t at = 0; at + 1024 < bytes.size(); at += 512) {
        bytes.replace(at + 148, 8, 8, ' ');
        unsigned sum = 0;
        for (std::size_t i = at; i < at + 512; ++i) sum += static_cast<unsigned char>(bytes[i]);
        bytes.replace(at + 148, 6, TarBytes::octal(sum, 6));
      }
    try {
      const auto found = scan(bytes);
      CHECK(found.size() <= whole.size() / 512);
    } catch (const UserError& error) {
      CHECK(error.code() == ExitCode::data);
    }
  }
}

TEST_CASE("read_exactly: what is too large or cut short is refused") {
  TempFolder temp;
  const auto file = Descriptor::file(temp.write("f", "12345").c_str());
  std::vector<std::byte> bytes;
  read_exactly(file, 1, 3, bytes);
  CHECK(bytes == std::vector<std::byte>{std::byte{'2'}, std::byte{'3'}, std::byte{'4'}});
  CHECK_THROWS_WITH_AS(read_exactly(file, 3, 4, bytes), "the file ends 2 bytes early: was it cut since?",
                       std::runtime_error);
  CHECK_THROWS_AS(read_exactly(file, 0, max_sample_bytes + 1, bytes), std::runtime_error);
}

TEST_CASE("tar: what is written is read back") {
  const std::string name(100, 'n'), data(700, 'd');
  const auto entry = [](const std::string& name, const std::string& data) {
    const auto header = tar_header(name, data.size());
    auto bytes = std::string(header.data(), header.size()) + data;
    bytes.resize((bytes.size() + tar_block_bytes - 1) / tar_block_bytes * tar_block_bytes);
    return bytes;
  };
  const std::string end(2 * tar_block_bytes, '\0');
  CHECK(scan(entry("a.cls", "1") + entry(name, data) + entry("empty", "") + end) ==
        std::vector<Found>{{"a.cls", "1"}, {name, data}, {"empty", ""}});
  CHECK(tar_header("x", (std::uint64_t{1} << 33) - 1)[124] == '7');
  failure_of<InternalError>([&] { tar_header(name + "n", 1); });
  failure_of<InternalError>([&] { tar_header("", 1); });
  failure_of<InternalError>([&] { tar_header("x", std::uint64_t{1} << 33); });
}

}  // namespace
}  // namespace flowtrain::tar_test
