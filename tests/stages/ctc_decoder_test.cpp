// The labels of CTC outputs, beside those of a search through all paths.

#include "stages/decoding/ctc_decoder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/tokens/edits.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::ctc_decoder_test {
namespace {

using Labels = std::vector<std::int64_t>;
using Values = std::vector<std::pair<std::string, Value>>;

Settings decode_table(const std::string& name, const Values& values = {}) {
  Settings settings("decode", {{"name", Kind::text, name, ""},
                               {"beam", Kind::integer, std::int64_t{1000000}, ""},
                               {"prune", Kind::real, 0.0, ""},
                               {"language_model", Kind::text, std::string(), ""},
                               {"units", Kind::text, std::string("auto"), ""},
                               {"weight", Kind::real, 0.7, ""},
                               {"word_bonus", Kind::real, 0.3, ""}});
  for (auto& [key, value] : values) settings.set(key, value, {"test.toml", 2, 1});
  return settings;
}

/// Logarithms of drawn probabilities of (frames, classes).
std::vector<float> drawn_logs(std::mt19937& random, std::size_t frames, std::size_t classes, float spread = 2) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logs(frames * classes);
  for (std::size_t t = 0; t < frames; ++t) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logs[t * classes + c] = normal(random));
    for (std::size_t c = 0; c < classes; ++c) logs[t * classes + c] -= static_cast<float>(std::log(sum));
  }
  return logs;
}

/// Returns the probability of each sequence of labels: the sum over all paths that collapse to it.
std::map<Labels, double> probabilities(const std::vector<float>& logs, std::size_t classes, std::size_t blank) {
  std::map<Labels, double> all;
  const std::size_t frames = logs.size() / classes;
  std::vector<std::size_t> path(frames);
  while (true) {
    double log = 0;
    Labels labels;
    for (std::size_t t = 0; t < frames; ++t) {
      log += static_cast<double>(logs[t * classes + path[t]]);
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(static_cast<std::int64_t>(path[t]));
    }
    all[labels] += std::exp(log);
    std::size_t t = 0;
    for (; t < frames && ++path[t] == classes; ++t) path[t] = 0;
    if (t == frames) return all;
  }
}

/// Returns the labels with the greatest log probability + score(labels).
template <class Score>
Labels best_of(const std::map<Labels, double>& all, const Score& score) {
  Labels best;
  double greatest = -std::numeric_limits<double>::infinity();
  for (auto& [labels, probability] : all)
    if (const double own = std::log(probability) + score(labels); own > greatest) greatest = own, best = labels;
  return best;
}

/// A tokenizer of few tokens.
class FewTokens final : public Tokenizer {
 public:
  explicit FewTokens(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  void encode(std::string_view, std::vector<std::uint32_t>&, EncodeOptions) const override {}
  void decode(std::span<const std::uint32_t> ids, std::string& text, bool) const override {
    for (const auto id : ids) text += texts_.at(id);
  }
  std::size_t vocabulary_size() const override { return texts_.size(); }
  std::string token(std::uint32_t id) const override { return texts_[id]; }
  const std::vector<SpecialToken>& special_tokens() const override { return none_; }

 private:
  std::vector<std::string> texts_;
  std::vector<SpecialToken> none_;
};

Field label_of_tokens(std::vector<std::string> texts) {
  Field field{.name = "label", .dtype = DType::i64, .shape = {8}};
  field.tokenizer = std::make_shared<FewTokens>(std::move(texts));
  return field;
}

const std::vector<std::string> letters{"a", "b", " "};

const std::string word_model =
    "\\data\\\nngram 1=6\nngram 2=4\n\\1-grams:\n-2 <unk>\n-99 <s> -0.3\n-1 </s>\n-0.5 a -0.2\n-0.6 ab -0.4\n-0.9 bb\n"
    "\\2-grams:\n-0.1 <s> ab\n-0.2 ab a\n-0.3 a </s>\n-0.4 a bb\n\\end\\\n";
const std::string letter_model =
    "\\data\\\nngram 1=6\nngram 2=3\n\\1-grams:\n-2 <unk>\n-99 <s> -0.3\n-1 </s>\n-0.5 a -0.2\n-0.6 b -0.4\n"
    "-0.9 \u2581\n\\2-grams:\n-0.1 <s> b\n-0.2 b a\n-0.1 a a\n\\end\\\n";

/// Returns the natural logarithm of the probability of words, and how many there are.
std::pair<double, std::size_t> scored(const NgramModel& model, const std::vector<std::string>& words) {
  auto state = model.begin();
  double sum = 0;
  for (auto& word : words) sum += model.score(state, hash_of_word(word));
  return {sum + model.end(state), words.size()};
}

std::vector<std::string> words_of_labels(const Labels& labels) {
  std::vector<std::string> words(1);
  for (const auto label : labels) {
    if (const auto& text = letters[static_cast<std::size_t>(label)]; text != " ")
      words.back() += text;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::vector<std::string> letters_of_labels(const Labels& labels) {
  std::vector<std::string> all;
  for (const auto label : labels)
    all.push_back(letters[static_cast<std::size_t>(label)] == " " ? "\u2581"
                                                                  : letters[static_cast<std::size_t>(label)]);
  return all;
}

}  // namespace

TEST_CASE("greedy decoding takes the best class of each frame, without repeats and blanks") {
  const std::vector<std::size_t> best{2, 0, 0, 2, 0, 1, 1, 2, 2, 1};
  std::vector<float> logs;
  for (const auto c : best)
    for (std::size_t i = 0; i < 3; ++i) logs.push_back(i == c ? -0.1F : -3);
  CHECK(CtcDecoder(decode_table("ctc_greedy"), nullptr, -1)(logs, 3) == Labels{0, 0, 1, 1});
  CHECK(CtcDecoder(decode_table("ctc_greedy"), nullptr, 0)(logs, 3) == Labels{2, 2, 1, 2, 1});
  CHECK(CtcDecoder(decode_table("ctc_greedy"), nullptr, -1)({}, 3) == Labels());
  CHECK_THROWS_WITH_AS(CtcDecoder(decode_table("ctc_greedy"), nullptr, 3)(logs, 3),
                       "the blank is class 3, but the net has 3 classes", std::invalid_argument);
}

TEST_CASE("a beam without bounds finds the most likely labels of all paths") {
  std::mt19937 random(3);
  const CtcDecoder decoder(decode_table("ctc_beam"), nullptr, -1), first(decode_table("ctc_beam"), nullptr, 0);
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const std::size_t frames = 1 + random() % 6, classes = 2 + random() % 3;
    const auto logs = drawn_logs(random, frames, classes, i % 2 ? 2 : 0.5F);
    const auto none = [](const Labels&) { return 0.0; };
    const auto expected = best_of(probabilities(logs, classes, classes - 1), none);
    CAPTURE(i);
    CHECK(decoder(logs, classes) == expected);
    CHECK(first(logs, classes) == best_of(probabilities(logs, classes, 0), none));
    differ += CtcDecoder(decode_table("ctc_greedy"), nullptr, -1)(logs, classes) != expected;
  }
  CHECK(differ > 20);  // the best path is not the best text
}

TEST_CASE("a language model of words, or of tokens, weighs with its words, as in a search through all paths") {
  const TempFolder folder;
  const Field label = label_of_tokens(letters);
  for (const bool by_word : {true, false}) {
    CAPTURE(by_word);
    const auto path = folder.write("lm.arpa", by_word ? word_model : letter_model).string();
    const NgramModel model = NgramModel::open(path);
    std::mt19937 random(5);
    int differ = 0;
    for (int i = 0; i < 150; ++i) {
      const double weight = i % 3 * 0.6, bonus = i % 2 ? 0.8 : -0.5;
      const CtcDecoder decoder(
          decode_table("ctc_beam", {{"language_model", path}, {"weight", weight}, {"word_bonus", bonus}}), &label, -1);
      const auto logs = drawn_logs(random, 1 + random() % 6, 4, 1);
      const auto all = probabilities(logs, 4, 3);
      const auto expected = best_of(all, [&](const Labels& labels) {
        const auto [log, words] = scored(model, by_word ? words_of_labels(labels) : letters_of_labels(labels));
        return weight * log + bonus * static_cast<double>(words);
      });
      CAPTURE(i);
      CHECK(decoder(logs, 4) == expected);
      differ += expected != best_of(all, [](const Labels&) { return 0.0; });
    }
    CHECK(differ > 20);
  }
}

TEST_CASE("a model is one of tokens only if it knows most of them, or one of a blank, unless decode.units tells") {
  const TempFolder folder;
  const Field few = label_of_tokens({"a", "b", "ab", " "}), many = label_of_tokens({"a", "b", "c", "d", " "});
  const auto word = folder.write("w.arpa", "\\data\\\nngram 1=2\n\\1-grams:\n-1 ab\n-9 <unk>\n\\end\\\n").string();
  const auto blank =
      folder.write("b.arpa", "\\data\\\nngram 1=3\n\\1-grams:\n-9 <unk>\n-1 a\n-1 \u2581\n\\end\\\n").string();
  // The first frame is the label 0; the second one is `next`, or with a lower probability nothing.
  const auto decoded = [&](const std::string& path, const Field& field, std::size_t next, const std::string& units) {
    const CtcDecoder decoder(
        decode_table("ctc_beam", {{"language_model", path}, {"units", units}, {"word_bonus", 0.0}}), &field, -1);
    const std::size_t classes = field.tokenizer->vocabulary_size() + 1;
    std::vector<float> logs(2 * classes, -30);
    logs[0] = 0;
    logs[classes + next] = -0.1F;
    logs[2 * classes - 1] = -1.5F;
    return decoder(logs, classes);
  };
  CHECK(decoded(word, few, 1, "words") == Labels{0, 1});  // "ab", where "a" and "b" are unknown
  CHECK(decoded(word, few, 1, "tokens") == Labels{0});
  CHECK(decoded(word, few, 1, "auto") == Labels{0, 1});  // one token of four is a word
  CHECK(decoded(blank, many, 4, "words") == Labels{0, 4});
  CHECK(decoded(blank, many, 4, "tokens") == Labels{0});  // a blank has a probability, too
  CHECK(decoded(blank, many, 4, "auto") == Labels{0});
}

TEST_CASE("a model that knows none of the words that are found is told once, and one that knows some is not") {
  static std::vector<std::string> warnings;
  const TempFolder folder;
  const Field label = label_of_tokens(letters);
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  for (const std::string word : {"ba", "bb"}) {
    warnings.clear();
    const auto path =
        folder.write("w.arpa", "\\data\\\nngram 1=2\n\\1-grams:\n-1 " + word + "\n-9 <unk>\n\\end\\\n").string();
    const CtcDecoder decoder(decode_table("ctc_beam", {{"language_model", path}, {"units", "words"}}), &label, -1);
    std::vector<float> logs(8, -30);
    logs[1] = logs[4] = -0.1F;  // "ba"
    for (int i = 0; i < 150; ++i) CHECK(decoder(logs, 4) == Labels{1, 0});
    CHECK(warnings.size() == (word == "ba" ? 0 : 1));
  }
  CHECK(warnings.front().starts_with("decode.language_model: none of the first 100 words that were found is one"));
  set_warning_sink(nullptr);
}

TEST_CASE("tokens with a blank before their words divide them, too") {
  const TempFolder folder;
  const auto path = folder.write("lm.arpa", word_model).string();
  const NgramModel model = NgramModel::open(path);
  const std::vector<std::string> pieces{" a", "b", " bb"};
  const Field label = label_of_tokens(pieces);
  const CtcDecoder decoder(decode_table("ctc_beam", {{"language_model", path}}), &label, -1);
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const auto logs = drawn_logs(random, 1 + random() % 5, 4, 1);
    const auto expected = best_of(probabilities(logs, 4, 3), [&](const Labels& labels) {
      std::string text;
      for (const auto each : labels) text += pieces[static_cast<std::size_t>(each)];
      std::vector<std::string> words;
      for (auto& word : words_of(text)) words.emplace_back(word);
      const auto [log, count] = scored(model, words);
      return 0.7 * log + 0.3 * static_cast<double>(count);
    });
    CAPTURE(i);
    CHECK(decoder(logs, 4) == expected);
  }
}

TEST_CASE("a narrow beam follows the best texts, the same ones in any thread") {
  std::mt19937 random(13);
  const auto logs = drawn_logs(random, 200, 30);
  const CtcDecoder narrow(decode_table("ctc_beam", {{"beam", std::int64_t{4}}, {"prune", 0.01}}), nullptr, -1);
  const auto expected = narrow(logs, 30);
  CHECK(expected.size() > 20);
  std::vector<Labels> found(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(found.size());
    for (auto& each : found) threads.emplace_back([&] { each = narrow(logs, 30); });
  }
  for (auto& each : found) CHECK(each == expected);
  // One text at a time, and only the best class of each frame: the best path.
  const CtcDecoder one(decode_table("ctc_beam", {{"beam", std::int64_t{1}}, {"prune", 1.0}}), nullptr, -1);
  CHECK(one(logs, 30) == CtcDecoder(decode_table("ctc_greedy"), nullptr, -1)(logs, 30));
}

TEST_CASE("a net that gives no numbers any more is decoded, too") {
  const float nan = std::nanf(""), none = -std::numeric_limits<float>::infinity();
  for (const char* name : {"ctc_beam", "ctc_greedy"}) {
    CAPTURE(name);
    const CtcDecoder decoder(decode_table(name), nullptr, -1);
    CHECK_NOTHROW(decoder(std::vector<float>{nan, nan, nan, nan, nan, nan}, 3));
    CHECK(decoder(std::vector<float>{0, nan, none, nan, 0, none}, 3) == Labels{0, 1});
    CHECK_NOTHROW(decoder(std::vector<float>(6, none), 3));
  }
}

TEST_CASE("a language model that cannot be used is refused at its key") {
  const TempFolder folder;
  const Field plain{.name = "label", .dtype = DType::i64, .shape = {8}};
  const auto refusal = [&](const std::string& path, const Field& label) -> std::string {
    try {
      const CtcDecoder decoder(decode_table("ctc_beam", {{"language_model", path}}), &label, -1);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const auto good = folder.write("good.arpa", word_model).string(), bad = folder.write("bad.arpa", "none\n").string();
  CHECK(refusal(good, label_of_tokens(letters)) == "");
  CHECK(refusal(good, label_of_tokens({"A", "B", " "})) ==
        "test.toml:2:1: decode.language_model: '" + good + "' has no word that the label's tokens could write");
  CHECK(refusal(good, plain) ==
        "test.toml:2:1: decode.language_model: the field 'label' has no tokenizer, which tells the words of its ids");
  CHECK(refusal(bad, label_of_tokens(letters)).starts_with("test.toml:2:1: decode.language_model: " + bad + ":1: "));
  CHECK(refusal("/nowhere", label_of_tokens(letters)).find("cannot read the language model '/nowhere'") !=
        std::string::npos);
}

}  // namespace flowtrain::ctc_decoder_test
