#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/tokens/unicode.h"
#include "sampling/tokens/word_model.h"

namespace flowtrain {
namespace {

constexpr std::size_t least_kept = 1 << 11, most_kept = 1 << 19;  // 128 KiB to 32 MiB
constexpr std::size_t longest_kept = 23;
constexpr std::size_t longest_word = 64 << 20;  // a thread takes up to 36 bytes for each of them

constexpr std::size_t most_kept_ids = std::tuple_size_v<decltype(KeptWord::ids)>;

using WordKey = decltype(KeptWord::key);

template <class Number>
std::uint64_t load(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

/// Returns up to 7 bytes as a number, without a read beyond them.
std::uint64_t load_few(const char* from, std::size_t count) {
  if (count >= 4) return load<std::uint32_t>(from) | load<std::uint32_t>(from + count - 4) << (8 * (count - 4));
  if (count >= 2) return load<std::uint16_t>(from) | load<std::uint16_t>(from + count - 2) << (8 * (count - 2));
  return count == 1 ? load<std::uint8_t>(from) : 0;
}

/// Returns a word and its length as numbers.
WordKey key_of(std::string_view word) {
  static_assert(std::endian::native == std::endian::little);
  const char* const from = word.data();
  const std::size_t size = word.size();
  const std::uint64_t length = std::uint64_t{size} << 56;
  if (size < 8) return {load_few(from, size), 0, length};
  const std::uint64_t first = load<std::uint64_t>(from);
  if (size < 16) return {first, load_few(from + 8, size - 8), length};
  return {first, load<std::uint64_t>(from + 8), load_few(from + 16, size - 16) | length};
}

/// Returns the place of a word among pairs of lines.
std::size_t place_of(const WordKey& key, std::size_t pairs) {
  std::uint64_t hash = key[0] * 0x9e3779b97f4a7c15 ^ std::rotl(key[1] * 0xc2b2ae3d27d4eb4f, 29) ^
                       std::rotl(key[2] * 0x165667b19e3779f9, 41);
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15 >> (64 - std::countr_zero(pairs));
}

bool is_key(const WordKey& a, const WordKey& b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0; }

/// Returns whether a pair has a word, which is then its first line. The second one takes new words, and gives up those
/// that come again: rare ones do not drive them out.
bool has_word(KeptWord* pair, const WordKey& key) {
  if (is_key(pair[0].key, key)) return true;
  if (!is_key(pair[1].key, key)) return false;
  std::swap(pair[0], pair[1]);
  return true;
}

}  // namespace

Scratch& scratch_of(std::uint64_t instance) {
  thread_local std::array<std::pair<std::uint64_t, std::unique_ptr<Scratch>>, 4> kept;
  if (kept[0].first == instance) return *kept[0].second;
  std::size_t place = 1;
  while (place + 1 < kept.size() && kept[place].first != instance) ++place;
  if (kept[place].first != instance) kept[place] = {instance, std::make_unique<Scratch>()};
  for (; place > 0; --place) std::swap(kept[place], kept[place - 1]);
  return *kept[0].second;
}

std::uint64_t next_instance() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void WordModel::encode(std::span<const std::string_view> words, std::vector<std::uint32_t>& ids,
                       Scratch& scratch) const {
  constexpr std::size_t block = 16;  // words whose lines of the cache are on their way at once
  std::array<WordKey, block> keys;
  std::array<KeptWord*, block> kept;                       // pairs of lines
  std::array<std::uint32_t, block * most_kept_ids> known;  // ids of words that were met, which are copied whole
  for (; !words.empty(); words = words.subspan(std::min(block, words.size()))) {
    if (scratch.new_words >= scratch.kept.size() && scratch.kept.size() < most_kept) {
      scratch.kept.assign(std::max(least_kept, 4 * scratch.kept.size()), {});
      scratch.new_words = 0;
    }
    const std::size_t count = std::min(block, words.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i].size() > longest_kept) continue;
      keys[i] = key_of(words[i]);
      kept[i] = &scratch.kept[2 * place_of(keys[i], scratch.kept.size() / 2)];
      for (std::size_t line = 0; line < 2; ++line) __builtin_prefetch(kept[i] + line, 1);
    }
    auto* end = known.data();
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_short = words[i].size() <= longest_kept;
      if (is_short && has_word(kept[i], keys[i])) {
        std::ranges::copy(kept[i]->ids, end);
        end += kept[i]->count;
        continue;
      }
      ids.insert(ids.end(), known.data(), end);
      end = known.data();
      if (words[i].size() > longest_word)
        throw SampleError(concat("it has a word of ", words[i].size() >> 20,
                                 " MiB, which this tokenizer would need too much memory for: make records of lines"));
      is_short ? encode_and_keep(words[i], kept[i][1], ids, scratch) : encode_anew(words[i], ids, scratch);
    }
    ids.insert(ids.end(), known.data(), end);
  }
}

void WordModel::encode_and_keep(std::string_view word, KeptWord& kept, std::vector<std::uint32_t>& ids,
                                Scratch& scratch) const {
  const std::size_t before = ids.size();
  encode_anew(word, ids, scratch);
  const std::size_t count = ids.size() - before;
  if (count > kept.ids.size()) return;
  ++scratch.new_words;
  kept.key = key_of(word);
  kept.count = static_cast<std::uint32_t>(count);
  std::copy_n(ids.end() - static_cast<std::ptrdiff_t>(count), count, kept.ids.begin());
}

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<std::pair<std::string_view, std::uint32_t>> begins, inner;
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    const auto text = vocabulary.text(id);
    if (text.empty()) continue;
    begins.emplace_back(text, id);
    if (text.starts_with(prefix) && text.size() > prefix.size()) inner.emplace_back(text.substr(prefix.size()), id);
  }
  begins_ = ByteTree(std::move(begins));
  inner_ = ByteTree(std::move(inner));
}

void WordPieceModel::encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch&) const {
  const std::size_t before = ids.size();
  std::size_t characters = 0;
  for (std::size_t at = 0; at < word.size(); at += unicode::character_at(word, at).bytes) ++characters;
  const ByteTree* tree = &begins_;
  for (std::string_view rest = word; characters <= most_characters; tree = &inner_) {
    const auto [id, bytes] = tree->longest(rest);
    if (id == no_token) break;
    ids.push_back(id);
    rest.remove_prefix(bytes);
    if (rest.empty()) return;
  }
  ids.resize(before);
  if (unknown != no_token) ids.push_back(unknown);
}

void UnigramModel::encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
  constexpr double unknown_penalty = 10;
  auto& best = scratch.scores;   // scores of the best split up to each byte
  auto& last = scratch.symbols;  // the last piece of that split
  auto& begins = scratch.links;  // the beginning of that piece
  best.assign(word.size() + 1, 0);
  last.assign(word.size() + 1, no_token);
  begins.assign(word.size() + 1, no_token);
  const auto rounded = [&](double score) { return single_precision ? static_cast<float>(score) : score; };
  const auto offer = [&](std::size_t begin, std::size_t end, std::uint32_t id, double score) {
    score = rounded(score);
    if (begins[end] != no_token && score <= best[end]) return;
    best[end] = score;
    last[end] = id;
    begins[end] = static_cast<std::uint32_t>(begin);
  };
  // SentencePiece counts anew from here, where a float has too few digits left.
  constexpr double least_sum = -100'000;
  for (std::size_t at = 0; at < word.size();) {
    if (single_precision && best[at] < least_sum) {
      for (std::size_t end = at + 1; end <= word.size(); ++end)
        if (begins[end] != no_token) best[end] = rounded(best[end] - best[at]);
      best[at] = 0;
    }
    const std::size_t length = unicode::character_at(word, at).bytes;
    bool has_single = false;
    pieces.each(word, at, [&](std::uint32_t id, std::size_t bytes_of_it) {
      offer(at, at + bytes_of_it, id, best[at] + scores[id]);
      has_single = has_single || bytes_of_it == length;
    });
    if (!has_single) offer(at, at + length, unknown, best[at] + rounded(least - unknown_penalty));
    at += length;
  }
  auto& places = scratch.ranks;  // ends of the pieces, the last one first
  places.clear();
  for (auto end = static_cast<std::uint32_t>(word.size()); end > 0; end = begins[end]) places.push_back(end);
  bool was_unknown = false;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const bool is_unknown = last[*place] == unknown;
    if (is_unknown && bytes[0] != no_token) {
      for (const char byte : word.substr(begins[*place], *place - begins[*place]))
        ids.push_back(bytes[static_cast<unsigned char>(byte)]);
    } else if (!(is_unknown && was_unknown) && last[*place] != no_token) {
      ids.push_back(last[*place]);
    }
    was_unknown = is_unknown;
  }
}

}  // namespace flowtrain
