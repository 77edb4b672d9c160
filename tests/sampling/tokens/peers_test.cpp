// Ids beside those of PyPI's tokenizers, where python3 has them.

#include <doctest/doctest.h>

#include <sstream>

#include "sampling/tokens/tokenizer.h"
#include "sampling/tokens/train.h"
#include "tests/sampling/tokens/drawn_texts.h"
#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain {
namespace {

using Ids = std::vector<std::uint32_t>;

std::vector<std::string> drawn_texts(std::uint32_t seed) {
  test::DrawnTexts texts(seed);
  std::vector<std::string> all;
  for (int i = 0; i < 400; ++i) all.push_back(texts.text(1 + texts.below(40)));
  return all;
}

/// Runs encode_peer.py on the texts; returns the ids of each.
std::vector<Ids> peer_ids(const TempFolder& folder, const std::string& kind, const std::string& file,
                          const std::vector<std::string>& texts, const std::string& more = {}) {
  std::string joined;
  for (const auto& text : texts) joined.append(text).push_back('\0');
  const auto path = folder.write("texts", joined);
  std::istringstream lines(test::output_of(test::python_command("tests/sampling/tokens/encode_peer.py") + " " + kind +
                                           " '" + file + "' '" + path.string() + "' " + more));
  std::vector<Ids> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    all.emplace_back();
    for (std::uint32_t id; numbers >> id;) all.back().push_back(id);
  }
  return all;
}

void check_equal(const Tokenizer& tokenizer, const std::vector<std::string>& texts, const std::vector<Ids>& expected,
                 EncodeOptions options = {}) {
  REQUIRE(expected.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    REQUIRE(tokenizer.encode(texts[i], options) == expected[i]);
  }
}

}  // namespace

TEST_CASE("a vocabulary that is learned has the ids that Hugging Face's tokenizers read from its file") {
  SKIP_UNLESS(test::python_has("tokenizers"), "python3-tokenizers", "python3 cannot import tokenizers");
  const TempFolder folder;
  std::string corpus;
  for (const auto& text : drawn_texts(1)) corpus += text + "\nand\n";
  const auto file = folder.write("corpus", corpus);
  for (const char* pattern : pattern_names) {
    CAPTURE(pattern);
    const auto json = folder.write(
        "tokenizer.json",
        tokenizer_json(learn_pairs({file}, {.vocabulary = 900, .pattern = pattern, .special = {"<|end|>"}})));
    auto texts = drawn_texts(2);
    check_equal(*open_tokenizer(json), texts, peer_ids(folder, "tokenizers", json, texts));
    for (auto& text : texts) text = "a" + text + "<|end|>" + text + " <|end|>";
    check_equal(*open_tokenizer(json), texts, peer_ids(folder, "tokenizers", json, texts, "special"),
                {.special_text = true});
  }
}

}  // namespace flowtrain
