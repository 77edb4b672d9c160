#include "sampling/tokens/word_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "sampling/tokens/pair_scan.h"

namespace flowtrain::word_model_test {
namespace {

/// Makes a model of bytes whose tokens are drawn from few letters. Their ranks grow as a learner's do, or are drawn.
void draw(PairModel& model, std::mt19937& random, bool grows) {
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    model.vocabulary.add(std::string(1, static_cast<char>(byte)), byte);
    model.bytes[byte] = byte;
  }
  std::vector<std::string> texts{"a", "b", "c"};
  for (std::uint32_t id = 256; id < 300; ++id) {
    const std::string text = texts[random() % texts.size()] + texts[random() % texts.size()];
    if (text.size() <= 24 && model.vocabulary.add(text, id)) texts.push_back(text);
  }
  std::vector<std::uint32_t> ranks(model.vocabulary.size());
  for (std::uint32_t id = 0; id < ranks.size(); ++id) ranks[id] = id;
  if (!grows) std::shuffle(ranks.begin() + 256, ranks.end(), random);
  model.merge_all(model.vocabulary, [&](std::uint32_t id) { return ranks[id]; });
  model.finish();
}

}  // namespace

TEST_CASE("words that are read from the left have the ids that merging gives") {
  std::mt19937 random(11);
  std::size_t scanned = 0;
  for (int round = 0; round < 300; ++round) {
    PairModel model;
    draw(model, random, round % 2 == 0);
    scanned += PairScan::of(model) != nullptr;
    Scratch scratch;
    for (int i = 0; i < 60; ++i) {
      std::string word(1 + random() % 120, 'a');
      for (char& c : word) c = static_cast<char>('a' + random() % 3);
      std::vector<std::uint32_t> merged, ids;
      model.merge_word(word, merged, scratch);
      const std::string_view view = word;
      for (int again = 0; again < 2; ++again) {
        ids.clear();
        model.encode({&view, 1}, ids, scratch);
        CAPTURE(word);
        REQUIRE(ids == merged);
      }
    }
  }
  CHECK(scanned > 50);
  CHECK(scanned < 300);
}

TEST_CASE("a tree of bytes finds the longest text that another begins with") {
  std::mt19937 random(13);
  std::vector<std::pair<std::string_view, std::uint32_t>> texts;
  std::vector<std::string> kept;
  Vocabulary known;
  for (std::uint32_t id = 0; id < 3000; ++id) {
    std::string text(1 + random() % 6, '\0');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 5);
    if (known.add(text, id)) kept.push_back(text);
  }
  for (const auto& text : kept) texts.emplace_back(text, known.find(text));
  const ByteTree tree(texts);
  for (int i = 0; i < 3000; ++i) {
    std::string text(random() % 9, '\0');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 5);
    std::size_t bytes = text.size();
    while (bytes > 0 && known.find(std::string_view(text).substr(0, bytes)) == no_token) --bytes;
    const auto found = tree.longest(text);
    REQUIRE(found.bytes == bytes);
    REQUIRE(found.number == (bytes == 0 ? no_token : known.find(std::string_view(text).substr(0, bytes))));
  }
  CHECK(ByteTree().longest("a").number == no_token);
}

}  // namespace flowtrain::word_model_test
