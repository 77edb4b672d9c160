// The continuation of texts by a net: groups, windows, ends, and what terminals get of it.

#include "pipeline/engine/text/continuation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "pipeline/engine/text/stop_texts.h"
#include "pipeline/engine/text/terminal_text.h"
#include "sampling/core/error.h"
#include "sampling/core/random.h"

namespace flowtrain::continuation_test {
namespace {

constexpr std::int64_t end_of_text = 256;

/// A net whose logits are a function of the last `length` tokens of each text: random letters, and rarely an end. It
/// notes the rows of each call.
class FakeModel : public TextModel {
 public:
  explicit FakeModel(std::int64_t most) : most_(most) {}
  std::int64_t vocabulary() const override { return 257; }
  std::int64_t length() const override { return most_; }
  void begin_texts(std::int64_t count) override { texts_.assign(static_cast<std::size_t>(count), {}); }
  std::span<const float> continue_texts(std::span<const std::int64_t> tokens) override {
    const std::size_t count = tokens.size() / texts_.size();
    logits_.clear();
    for (std::size_t row = 0; row < texts_.size(); ++row) {
      auto& text = texts_[row];
      const auto own = tokens.subspan(row * count, count);
      text.insert(text.end(), own.begin(), own.end());
      if (most_ > 0) REQUIRE(text.size() <= static_cast<std::size_t>(most_));
      const auto logits = logits_of(text);
      logits_.insert(logits_.end(), logits.begin(), logits.end());
    }
    rows.push_back(texts_.size());
    return logits_;
  }
  void end_texts() override { texts_.clear(), ++ended; }

  virtual std::vector<float> logits_of(const std::vector<std::int64_t>& text) const {
    std::uint64_t hash = 1;
    for (const auto token : text) hash = mix64(hash + static_cast<std::uint64_t>(token));
    Stream stream(hash, Purpose::sample, 0);
    std::vector<float> logits(257, -50);
    for (int letter = 'a'; letter <= 'z'; ++letter) logits[letter] = static_cast<float>(stream.normal());
    logits[end_of_text] = static_cast<float>(stream.normal()) - 1;
    return logits;
  }

  std::vector<std::size_t> rows;
  int ended = 0;

 private:
  const std::int64_t most_;
  std::vector<std::vector<std::int64_t>> texts_;
  std::vector<float> logits_;
};

/// A net that says these bytes, one after the other, whatever the prompt of one token, and then ends.
class Speaker final : public FakeModel {
 public:
  explicit Speaker(std::string says) : FakeModel(0), says_(std::move(says)) {}
  std::vector<float> logits_of(const std::vector<std::int64_t>& text) const override {
    std::vector<float> logits(257);
    logits[text.size() <= says_.size() ? static_cast<unsigned char>(says_[text.size() - 1]) : end_of_text] = 1;
    return logits;
  }

 private:
  const std::string says_;
};

TextForm bytes_form() {
  return {.name = "bytes", .tokenizer = byte_tokenizer(), .ends = {end_of_text}, .first = {end_of_text}};
}

std::vector<Prompt> prompts_of(const std::vector<std::string>& texts) {
  std::vector<Prompt> prompts;
  for (auto& text : texts) prompts.push_back({static_cast<std::uint32_t>(prompts.size()), bytes_form().encode(text)});
  return prompts;
}

Continuation say(const std::string& bytes, const ContinuationRules& rules, std::vector<std::string>* pieces = nullptr) {
  Speaker model(bytes);
  return continue_prompts(model, bytes_form(), rules, prompts_of({"."}),
                          [&](std::size_t, std::string_view piece, bool) {
                            if (pieces && !piece.empty()) pieces->emplace_back(piece);
                          })
      .front();
}

}  // namespace

TEST_CASE("texts that are continued together are those that are continued one by one") {
  const std::vector<Prompt> prompts = prompts_of({"ab", "x", "cd", "abc", "y", "ef", "gh"});
  for (const double temperature : {0.0, 1.5})
    for (const std::int64_t length : {0, 5}) {
      const ContinuationRules rules{.choice = {.temperature = temperature}, .seed = 3, .most_tokens = 40};
      FakeModel together(length);
      const auto all = continue_prompts(together, bytes_form(), rules, prompts, {}, 3);
      CHECK(together.rows.front() == 3);  // "ab", "cd", "ef"
      CHECK(together.ended == 1);
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        FakeModel alone(length);
        const auto one = continue_prompts(alone, bytes_form(), rules, {prompts[i]}).front();
        CHECK(one.text == all[i].text);
        CHECK(one.tokens == all[i].tokens);
        CHECK(one.stopped == all[i].stopped);
      }
    }
}

TEST_CASE("each token follows from the last ones that the net takes, of which a long prompt's are the end") {
  const auto form = bytes_form();
  const std::string prompt = "a prompt that is longer than the net takes";
  const ContinuationRules rules{.most_tokens = 30};
  FakeModel model(8);
  auto inner = form;
  inner.ends.clear();
  const auto made = continue_prompts(model, inner, rules, prompts_of({prompt})).front();
  CHECK(made.cut);
  CHECK_FALSE(made.stopped);
  CHECK(made.tokens == 30);
  std::vector<std::int64_t> tokens = form.encode(prompt);
  for (std::size_t i = 0; i < made.tokens; ++i) {
    const std::vector<std::int64_t> seen(tokens.end() - 8, tokens.end());
    tokens.push_back(most_likely(model.logits_of(seen)));
  }
  std::string text;
  for (std::size_t i = prompt.size(); i < tokens.size(); ++i)
    if (tokens[i] < 256) text += static_cast<char>(tokens[i]);
  CHECK(made.text == text);
}

TEST_CASE("a text ends at the token for it, before a stop text, or after the greatest number of tokens") {
  const auto ended = say("one two three", {});
  CHECK(ended.text == "one two three");
  CHECK(ended.tokens == 14);
  CHECK(ended.stopped);
  const auto cut = say("one two three", {.most_tokens = 6});
  CHECK(cut.text == "one tw");
  CHECK_FALSE(cut.stopped);
  const auto stopped = say("one two three", {.stop = {"three", "", "wo t"}});
  CHECK(stopped.text == "one t");
  CHECK(stopped.stopped);
  CHECK(say("one two", {.stop = {"two, three"}}).text == "one two");
}

TEST_CASE("a text comes in whole characters, and with all its bytes where it has broken ones") {
  std::vector<std::string> pieces;
  CHECK(say("né😀!", {}, &pieces).text == "né😀!");
  CHECK(pieces == std::vector<std::string>{"n", "é", "😀", "!"});
  pieces.clear();
  CHECK(say("a\xf0\x9f", {}, &pieces).text == "a\xf0\x9f");
  CHECK(pieces.back() == "\xf0\x9f");
}

TEST_CASE("an empty prompt begins with the token between texts, and is refused where there is none") {
  TextForm form = bytes_form();
  CHECK(form.encode("") == std::vector<std::int64_t>{end_of_text});
  CHECK(form.encode("a<|endoftext|>") == std::vector<std::int64_t>{'a', end_of_text});
  form.first.clear();
  CHECK_THROWS_WITH_AS(form.encode(""), doctest::Contains("the prompt is empty"), SampleError);
  form.begin = {7};
  CHECK(form.encode("") == std::vector<std::int64_t>{7});
  CHECK(form.encode("a") == std::vector<std::int64_t>{7, 'a'});
}

TEST_CASE("a net with fewer ids than the tokenizer, and logits that are not finite, are one line") {
  struct Small final : FakeModel {
    Small() : FakeModel(0) {}
    std::int64_t vocabulary() const override { return 100; }
  } small;
  CHECK_THROWS_WITH_AS(continue_prompts(small, bytes_form(), {}, prompts_of({"a"})),
                       "the net knows 100 ids, but the tokenizer bytes has 257", UserError);
  struct Broken final : FakeModel {
    Broken() : FakeModel(0) {}
    std::vector<float> logits_of(const std::vector<std::int64_t>&) const override {
      return std::vector<float>(257, std::numeric_limits<float>::quiet_NaN());
    }
  } broken;
  CHECK_THROWS_WITH_AS(continue_prompts(broken, bytes_form(), {}, prompts_of({"a"})), doctest::Contains("not finite"),
                       UserError);
  CHECK(broken.ended == 1);
}

TEST_CASE("a tokenizer that nothing names is that of bytes only where the net knows as many ids") {
  struct Large final : FakeModel {
    Large() : FakeModel(0) {}
    std::int64_t vocabulary() const override { return 500; }
  } large;
  TextForm form = bytes_form();
  check_vocabulary(large, form);
  form.is_guess = true;
  CHECK_THROWS_WITH_AS(check_vocabulary(large, form), doctest::Contains("the run names no tokenizer"), UserError);
  check_vocabulary(FakeModel(0), form);
}

TEST_CASE("what may begin a stop text is held back until it is known") {
  StopTexts stop({"\n\n", "END"});
  CHECK(stop.push("a\n") == "a");
  CHECK(stop.push("b EN") == "\nb ");
  CHECK(stop.push("ENDE") == "EN");
  CHECK(stop.found());
  CHECK(stop.push("more").empty());
  CHECK(stop.finish().empty());
  StopTexts none({""});
  CHECK(none.push("all") == "all");
  StopTexts open({"END"});
  CHECK(open.push("EN").empty());
  CHECK(open.finish() == "EN");
}

TEST_CASE("a terminal gets no control characters but newlines and tabs") {
  CHECK(terminal_text("é\n\t\x1b[2J\x7f\xc2\x9b\xc2\xa0\r") == "é\n\t?[2J??\xc2\xa0?");
  CHECK(terminal_text("\x9b") == "\\x9B");
}

}  // namespace flowtrain::continuation_test
