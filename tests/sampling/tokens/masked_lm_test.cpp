#include <doctest/doctest.h>

#include <thread>

#include "sampling/shown.h"
#include "tests/sampling/tokens/text_rows.h"

namespace flowtrain::masked_lm_test {
namespace {

using namespace testing;

constexpr std::int64_t none = -100, mask = 4, words = 18;

struct MaskedTexts {
  explicit MaskedTexts(bool training = true, Values more = {}) {
    const auto file = folder.write("pieces.json", word_pieces());
    more.insert(
        more.end(),
        {{"max", std::int64_t{20010}}, {"add_special", true}, {"special_text", true}, {"tokenizer", file.string()}});
    transform = transform_of("masked_lm", more, training);
    for (int i = 0; i < 2000; ++i) text += "the brown dog jumps over [SEP] a fox. ";
  }
  std::vector<Row64> made(Stream random, std::uint64_t id = 0) const {
    TextRecord record;
    record.text("txt", text);
    return rows_of(*transform, record.record(id), 20010, random);
  }
  TempFolder folder;
  std::unique_ptr<Transform> transform;
  std::string text;
};

}  // namespace

TEST_CASE("masked_lm chooses 15 % of the tokens: 80 % become the mask, 10 % another token, 10 % stay") {
  const MaskedTexts texts, all(true, {{"share", 1e-300}});
  const auto truth = all.made(Stream(7, Purpose::sample, 11))[0];
  const auto rows = texts.made(Stream(7, Purpose::sample, 11));
  std::int64_t plain = 0, chosen = 0, masked = 0, kept = 0, changed = 0;
  std::vector<std::int64_t> drawn(words);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] < 5) {  // special, or filled
      CHECK(rows[1][i] == none);
      CHECK(rows[0][i] == truth[i]);
      continue;
    }
    ++plain;
    if (rows[1][i] == none) {
      REQUIRE(rows[0][i] == truth[i]);
      continue;
    }
    REQUIRE(rows[1][i] == truth[i]);
    ++chosen;
    if (rows[0][i] == mask)
      ++masked;
    else
      ++(rows[0][i] == truth[i] ? kept : changed);
    ++drawn[static_cast<std::size_t>(rows[0][i])];
  }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  REQUIRE(plain == 18000);
  CHECK(std::abs(share(chosen, plain) - 0.15) < 0.01);
  CHECK(std::abs(share(masked, chosen) - 0.8 - 0.1 / words) < 0.03);
  CHECK(std::abs(share(kept, chosen) - 0.1) < 0.03);
  CHECK(std::abs(share(changed, chosen) - 0.1) < 0.03);
  CHECK(std::ranges::none_of(drawn, [](auto count) { return count == 0; }));  // any id may be drawn
}

TEST_CASE("masked_lm draws from the row's numbers in training, and from the record's id in validation") {
  const MaskedTexts training, validation(false);
  const Stream a(7, Purpose::sample, 1), b(7, Purpose::sample, 2);
  CHECK(training.made(a) == training.made(a));
  CHECK(training.made(a) != training.made(b));
  CHECK(training.made(a, 1) == training.made(a, 2));
  CHECK(validation.made(a, 1) == validation.made(b, 1));
  CHECK(validation.made(a, 1) != validation.made(a, 2));
}

TEST_CASE("rows of masked_lm are the same with any number of threads") {
  const MaskedTexts texts;
  const auto row = [&](std::uint64_t position) { return texts.made(Stream(3, Purpose::sample, position)); };
  std::vector<std::vector<Row64>> alone, together(12);
  for (std::uint64_t position = 0; position < 12; ++position) alone.push_back(row(position));
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t first = 0; first < 3; ++first)
      threads.emplace_back([&, first] {
        for (auto position = first; position < 12; position += 3) together[position] = row(position);
      });
  }
  CHECK(alone == together);
}

TEST_CASE("masked_lm takes the mask's name, needs one, and shows what was chosen") {
  CHECK_THROWS_WITH_AS(transform_of("masked_lm", {{"max", std::int64_t{4}}}),
                       doctest::Contains("field.mask: the tokenizer has neither [MASK] nor <mask>"), UserError);
  CHECK_THROWS_WITH_AS(transform_of("masked_lm", {{"max", std::int64_t{4}}, {"share", 0.0}}),
                       doctest::Contains("field.share: must be above 0"), UserError);
  const auto all =
      transform_of("masked_lm", {{"max", std::int64_t{4}}, {"share", 1.0}, {"mask", std::string("<|endoftext|>")}});
  const auto rows = rows_of(*all, TextRecord().text("txt", "abc").record(), 4);
  CHECK(rows[1] == Row64{97, 98, 99, none});
  CHECK(std::ranges::count(rows[0], 256) > 0);
  CHECK(length_of(*all, TextRecord().text("txt", "abc").record()) == 3);
  const Field label = stored_shape(all->fields()[1], Row64{4});
  const Row64 two{none, 98, none, 99}, nothing(4, none);
  CHECK(show(label, std::as_bytes(std::span(two))).text == "1: b, 3: c");
  CHECK(show(label, std::as_bytes(std::span(nothing))).text == "(none)");
}

}  // namespace flowtrain::masked_lm_test
