// Edits between texts, beside those of PyPI's jiwer where python3 has it.

#include "sampling/tokens/edits.h"

#include <doctest/doctest.h>

#include <random>
#include <sstream>

#include "sampling/core/text.h"
#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::edits_test {
namespace {

/// Returns "edits/length".
std::string told(EditCount count) { return concat(count.edits, "/", count.length); }

/// Pairs of texts of a few words, many of which are equal; some are empty or have several blanks.
std::vector<Transcript> drawn_pairs(std::size_t count) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return random() % most; };
  const std::vector<std::string> words{"the", "a", "cat", "cut", "caf\u00e9", "cafe", "\u4e2d\u6587", "it's", "x"};
  const auto text = [&] {
    std::string all;
    for (auto left = below(9); left > 0; --left) {
      all += words[below(words.size())];
      constexpr const char* others[] = {"  ", "\t", "\u00a0", " \u3000", "\n\n"};
      all += below(5) == 0 ? others[below(std::size(others))] : " ";
    }
    return below(3) == 0 ? " " + all : all;
  };
  std::vector<Transcript> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string reference = text();
    std::string hypothesis = below(4) == 0 ? reference : text();
    if (below(3) == 0 && !hypothesis.empty()) hypothesis.erase(hypothesis.find_last_not_of(' ') + 1);
    pairs.push_back(compared(reference, hypothesis));
  }
  return pairs;
}

}  // namespace

TEST_CASE("edits of words and characters: substitutions, deletions and insertions") {
  CHECK(told(word_edits("the cat sat", "the cat sat")) == "0/3");
  CHECK(told(word_edits("the cat sat", "the cut sat down")) == "2/3");
  CHECK(told(word_edits("the cat sat", "")) == "3/3");
  CHECK(told(word_edits("", "two words")) == "2/0");
  CHECK(told(word_edits(" a\t b\u3000\u3000c\n", "a b c")) == "0/3");
  CHECK(told(word_edits("a\tb c\u00a0d", "a\tb c d")) == "2/2");  // as jiwer, which divides at spaces and runs
  CHECK(told(character_edits(" kitten ", "sitting")) == "3/6");
  CHECK(told(character_edits("caf\u00e9", "cafe")) == "1/4");
  CHECK(told(character_edits("a b", "ab")) == "1/3");
  CHECK(told(character_edits("\xff\xfe", "\xff")) == "1/2");
}

TEST_CASE("an alignment marks the words that were replaced, left out and put in") {
  CHECK(marked_edits("the cat sat on the mat", "the cut sat the big mat") ==
        "the [-cat-]{+cut+} sat [-on-] the {+big+} mat");
  CHECK(marked_edits("same", "same") == "same");
  CHECK(marked_edits("", "new") == "{+new+}");
  CHECK(marked_edits("old", "") == "[-old-]");
  CHECK(marked_edits("", "") == "");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "w ";
  CHECK(marked_edits(many, many) == "");  // its table would be too large
}

TEST_CASE("ids end at the first negative one") {
  const auto bytes = byte_tokenizer();
  const std::vector<std::int64_t> ids{'h', 'i', 256, -1, 'x'};
  CHECK(text_of_ids(*bytes, std::span(ids)) == "hi");
  const std::vector<double> numbers{'o', 'k', -100};
  CHECK(text_of_ids(*bytes, std::span(numbers)) == "ok");
}

TEST_CASE("the edits of 1,000 drawn pairs are jiwer's") {
  SKIP_UNLESS(test::python_has("jiwer"), "python3-jiwer", "python3 cannot import jiwer");
  const auto pairs = drawn_pairs(1000);
  const TempFolder folder;
  std::string joined;
  for (auto& pair : pairs) joined.append(pair.reference).append(1, '\0').append(pair.hypothesis).append(1, '\0');
  const auto path = folder.write("texts", joined);
  std::istringstream lines(
      test::output_of(test::python_command("tests/sampling/tokens/edits_peer.py") + " '" + path.string() + "'"));
  EditCount words, characters;
  for (auto& pair : pairs) {
    CAPTURE(pair.reference);
    CAPTURE(pair.hypothesis);
    std::uint64_t of_words = 0, of_characters = 0;
    REQUIRE(static_cast<bool>(lines >> of_words >> of_characters));
    REQUIRE(pair.words.edits == of_words);
    REQUIRE(pair.characters.edits == of_characters);
    words.edits += pair.words.edits, words.length += pair.words.length;
    characters.edits += pair.characters.edits, characters.length += pair.characters.length;
  }
  double wer = 0, cer = 0;
  REQUIRE(static_cast<bool>(lines >> wer >> cer));
  CHECK(static_cast<double>(words.edits) / static_cast<double>(words.length) == wer);
  CHECK(static_cast<double>(characters.edits) / static_cast<double>(characters.length) == cer);
}

}  // namespace flowtrain::edits_test
