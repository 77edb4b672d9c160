#include "sampling/tokens/word_scanner.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sampling/tokens/text_pattern.h"
#include "sampling/tokens/tokenizer.h"
#include "sampling/tokens/unicode.h"
#include "tests/sampling/tokens/drawn_texts.h"

namespace flowtrain::word_scanner_test {
namespace {

std::vector<std::string> scanned(const WordRules& rules, std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(rules, unicode::classes(), text, at);
    REQUIRE(end > at);
    REQUIRE(end <= text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string> matched(const TextPattern& pattern, std::string_view text) {
  std::vector<std::string> words;
  pattern.each(text, [&](std::size_t begin, std::size_t end) { words.emplace_back(text.substr(begin, end - begin)); });
  return words;
}

/// Returns the text without characters that PCRE2's Unicode does not know yet.
std::string known_to_pcre2(const std::string& text) {
  static const TextPattern unassigned("\\p{Cn}+");
  std::string known;
  std::size_t from = 0;
  unassigned.each(text, [&](std::size_t begin, std::size_t end) {
    known += text.substr(from, begin - from);
    from = end;
  });
  return known + text.substr(from);
}

const std::string cl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";

}  // namespace

TEST_CASE("the scanner of each known pattern finds the words that PCRE2 finds, in 20,000 drawn texts") {
  std::vector<std::string> patterns{cl100k};
  for (const char* name : pattern_names) patterns.push_back(pattern_of_name(name));
  for (const auto& text : patterns) {
    CAPTURE(text);
    const auto rules = rules_of_pattern(text);
    REQUIRE(rules);
    const TextPattern pattern(text);
    test::DrawnTexts texts(17);
    for (int i = 0; i < 4000; ++i) {
      const std::string drawn = known_to_pcre2(texts.text(1 + texts.below(20)));
      const auto words = scanned(*rules, drawn);
      if (words != matched(pattern, drawn)) {
        CAPTURE(drawn);
        REQUIRE(words == matched(pattern, drawn));
      }
    }
  }
}

TEST_CASE("words of the known patterns are split as their vocabularies expect") {
  using Words = std::vector<std::string>;
  CHECK(scanned(rules_of_name("gpt2"), "It's  12345 x!\n") == Words{"It", "'s", " ", " 12345", " x", "!", "\n"});
  CHECK(scanned(rules_of_name("cl100k_base"), "It'S  12345 x!\n\ty") ==
        Words{"It", "'S", " ", " ", "123", "45", " x", "!\n", "\ty"});
  CHECK(scanned(rules_of_name("o200k_base"), "It's HTMLParser's a/b") == Words{"It's", " HTMLParser's", " a", "/b"});
  CHECK(scanned(rules_of_name("cl100k_base"), "a \n ") == Words{"a", " \n "});
  CHECK(scanned(rules_of_name("llama3"), "a \n ") == Words{"a", " \n", " "});
}

TEST_CASE("a byte that is no part of a character is a sign of its own") {
  const auto words = scanned(rules_of_name("o200k_base"), "ab\xff\xfe cd\xc3");
  CHECK(words == std::vector<std::string>{"ab", "\xff\xfe", " cd", "\xc3"});
  CHECK(unicode::character_at("\xed\xa0\x80", 0).code == unicode::broken);
  CHECK(unicode::character_at("\xf4\x90\x80\x80", 0).code == unicode::broken);
  CHECK(unicode::character_at("\xe2\x96\x81", 0).code == 0x2581);
  CHECK(unicode::character_before("x\xe2\x96\x81", 4).bytes == 3);
}

TEST_CASE("normal forms compose, decompose and fold compatible characters") {
  const auto normal = [](std::string_view text, unicode::Form form) {
    std::string into;
    unicode::normalize(text, form, into);
    return into;
  };
  CHECK(normal("e\u0301", unicode::Form::nfc) == "\u00e9");
  CHECK(normal("\u00e9", unicode::Form::nfd) == "e\u0301");
  CHECK(normal("\ufb01\uff21", unicode::Form::nfkc) == "fiA");
  CHECK(normal("a\u0301\u0323", unicode::Form::nfd) == "a\u0323\u0301");
  CHECK(normal("한", unicode::Form::nfd).size() == 9);
  CHECK(normal("a\xff", unicode::Form::nfc) == "a\ufffd");
}

}  // namespace flowtrain::word_scanner_test
