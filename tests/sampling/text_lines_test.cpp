#include "sampling/io/text_lines.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "sampling/core/utf8.h"
#include "tests/support/failure_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::text_lines_test {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("a text's lines come without byte order mark and carriage returns, whatever wrote them") {
  const TempFolder temp;
  const auto lines = [&](const std::string& text) { return read_text_lines(temp.write("list.txt", text)); };
  const Texts both{"cat", "dog"};
  CHECK(lines("cat\ndog\n") == both);
  CHECK(lines("cat\ndog") == both);
  CHECK(lines("cat\r\ndog\r\n") == both);
  CHECK(lines("\xef\xbb\xbf"
              "cat\r\ndog") == both);
  CHECK(lines("") == Texts{});
  CHECK(lines("\xef\xbb\xbf") == Texts{""});
  CHECK(lines("a\n\nb\n") == Texts{"a", "", "b"});
  CHECK(lines("a\n\xef\xbb\xbf"
              "b\n") == Texts{"a",
                              "\xef\xbb\xbf"
                              "b"});
}

TEST_CASE("a text in UTF-16 is refused with the way out, with a mark and without") {
  using namespace std::string_view_literals;
  for (const auto text : {"\xff\xfe"
                          "c\0\n\0"sv,
                          "\xfe\xff\0c\0\n"sv, "c\0a\0t\0\n\0"sv, "\0c\0\n"sv}) {
    const auto failure = failure_of([&] { text_lines(text, "names.txt"); });
    check_failure(failure, ExitCode::data, "names.txt: its first line is not UTF-8");
    CHECK(failure.hint() == "save the file as UTF-8, with one entry per line");
  }
}

TEST_CASE("a text file that cannot be read is named") {
  const TempFolder temp;
  check_failure(failure_of([&] { read_text_lines(temp.path()); }), ExitCode::data, "cannot be read");
  check_failure(failure_of([&] { read_text_lines(temp.path() / "none"); }), ExitCode::data,
                "none: the file cannot be read: No such file or directory");
}

TEST_CASE("texts in UTF-8 stay as they are, and bytes of others become escapes") {
  for (const std::string text : {"", "cat", "\x7f", "Katze und Käse", "猫", "\U0001f408", "\u0080\u07ff\u0800\uffff"})
    CHECK(as_utf8(text) == text);
  CHECK(as_utf8("caf\xe9") == "caf\\xE9");
  CHECK(first_not_utf8("caf\xe9") == 3);
  CHECK_FALSE(first_not_utf8("café, a text of more than eight bytes"));
  Stream random(1, Purpose::init, 0);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random.below(30), 'a');
    for (auto& c : text)
      if (random.below(8) == 0) c = static_cast<char>(random.below(256));
    CHECK(first_not_utf8(text).has_value() == (as_utf8(text) != text));
  }
  CHECK(as_utf8("\xff\xc3\xa9\xc3") == "\\xFFé\\xC3");
  CHECK(as_utf8("\xc0\xaf") == "\\xC0\\xAF");                      // a slash in two bytes
  CHECK(as_utf8("\xed\xa0\x80") == "\\xED\\xA0\\x80");             // a surrogate
  CHECK(as_utf8("\xf4\x90\x80\x80!") == "\\xF4\\x90\\x80\\x80!");  // beyond U+10FFFF
  CHECK(as_utf8("\xe7\x8c!") == "\\xE7\\x8C!");                    // cut short
}

}  // namespace
}  // namespace flowtrain::text_lines_test
