// Ids beside those of PyPI's tokenizers, tiktoken and sentencepiece, where python3 has them.

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "sampling/core/text.h"
#include "sampling/tokens/learn/train.h"
#include "sampling/tokens/tokenizer.h"
#include "tests/sampling/tokens/drawn_texts.h"
#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::peers_test {
namespace {

using Ids = std::vector<std::uint32_t>;

std::vector<std::string> drawn_texts(std::uint32_t seed) {
  test::DrawnTexts texts(seed);
  std::vector<std::string> all;
  all.reserve(400);
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

std::string write_corpus(const TempFolder& folder) {
  std::string corpus;
  for (const auto& text : drawn_texts(1)) corpus += text + "\nand\n";
  return folder.write("corpus", corpus).string();
}

/// Runs learn_peer.py; returns the path of what it wrote.
std::string learn(const TempFolder& folder, const std::string& kind, const std::string& from, const std::string& name) {
  std::string path = folder.write(name, "").string();
  test::output_of(test::python_command("tests/sampling/tokens/learn_peer.py") + " " + kind + " '" + from + "' '" +
                  path + "'");
  return path;
}

}  // namespace

TEST_CASE("a vocabulary that is learned has the ids that Hugging Face's tokenizers read from its file") {
  SKIP_UNLESS(test::python_has("tokenizers"), "python3-tokenizers", "python3 cannot import tokenizers");
  const TempFolder folder;
  const std::filesystem::path file = write_corpus(folder);
  for (const char* pattern : pattern_names) {
    CAPTURE(pattern);
    const auto json = folder.write(
        "tokenizer.json",
        tokenizer_json(learn_pairs({file}, {.vocabulary = 900, .pattern = pattern, .special = {"<|end|>"}})));
    auto texts = drawn_texts(2);
    check_equal(*open_tokenizer(json), texts, peer_ids(folder, "tokenizers", json, texts));
    for (auto& text : texts) text = concat("a", text, "<|end|>", text, " <|end|>");
    check_equal(*open_tokenizer(json), texts, peer_ids(folder, "tokenizers", json, texts, "special"),
                {.special_text = true});
  }
}

TEST_CASE("vocabularies that Hugging Face's tokenizers learn have their ids") {
  SKIP_UNLESS(test::python_has("tokenizers"), "python3-tokenizers", "python3 cannot import tokenizers");
  const TempFolder folder;
  const auto corpus = write_corpus(folder);
  for (const std::string kind : {"pairs", "characters", "word_pieces", "unigram"}) {
    CAPTURE(kind);
    const auto json = learn(folder, kind, corpus, kind + ".json");
    const auto texts = drawn_texts(3);
    check_equal(*open_tokenizer(json), texts, peer_ids(folder, "tokenizers", json, texts));
  }
}

TEST_CASE("rank files have the ids that tiktoken reads from them") {
  SKIP_UNLESS(test::python_has("tiktoken"), "python3-tiktoken", "python3 cannot import tiktoken");
  const TempFolder folder;
  const std::filesystem::path corpus = write_corpus(folder);
  for (const std::string pattern : {"gpt2", "cl100k_base", "o200k_base"}) {
    CAPTURE(pattern);
    const auto json =
        folder.write("own.json", tokenizer_json(learn_pairs({corpus}, {.vocabulary = 900, .pattern = pattern})));
    const auto ranks = learn(folder, "ranks", json, pattern + ".tiktoken");
    const auto texts = drawn_texts(4);
    check_equal(*open_tokenizer(ranks, pattern), texts, peer_ids(folder, "tiktoken", ranks, texts, pattern));
  }
}

TEST_CASE("models of SentencePiece have the ids that it reads from them") {
  SKIP_UNLESS(test::python_has("sentencepiece"), "python3-sentencepiece", "python3 cannot import sentencepiece");
  const TempFolder folder;
  const auto corpus = write_corpus(folder);
  for (const std::string kind : {"sp_bpe", "sp_unigram"}) {
    CAPTURE(kind);
    const auto model = learn(folder, kind, corpus, kind + ".model");
    auto texts = drawn_texts(5);
    // Sums of scores in floats begin anew in long texts.
    std::string whole;
    for (std::size_t i = 0; whole.size() < 300'000; ++i) whole += texts[i % texts.size()] + " ";
    texts.push_back(std::move(whole));
    check_equal(*open_tokenizer(model), texts, peer_ids(folder, "sentencepiece", model, texts));
  }
}

}  // namespace flowtrain::peers_test
