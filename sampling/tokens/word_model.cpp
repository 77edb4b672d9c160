#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "sampling/tokens/word_model.h"

namespace flowtrain {
namespace {

constexpr std::size_t kept_words = 1 << 16;  // 4 MiB
constexpr std::size_t longest_kept = 23;

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

std::size_t place_of(const WordKey& key) {
  std::uint64_t hash = key[0] * 0x9e3779b97f4a7c15 ^ std::rotl(key[1] * 0xc2b2ae3d27d4eb4f, 29) ^
                       std::rotl(key[2] * 0x165667b19e3779f9, 41);
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15 >> (64 - std::countr_zero(kept_words));
}

bool is_key(const WordKey& a, const WordKey& b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0; }

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
  std::array<KeptWord*, block> kept;
  if (scratch.kept.empty()) scratch.kept.resize(kept_words);
  for (; !words.empty(); words = words.subspan(std::min(block, words.size()))) {
    const std::size_t count = std::min(block, words.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i].size() > longest_kept) continue;
      keys[i] = key_of(words[i]);
      kept[i] = &scratch.kept[place_of(keys[i])];
      __builtin_prefetch(kept[i], 1);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i].size() > longest_kept)
        encode_anew(words[i], ids, scratch);
      else if (is_key(kept[i]->key, keys[i]))
        ids.insert(ids.end(), kept[i]->ids.begin(), kept[i]->ids.begin() + kept[i]->count);
      else
        encode_and_keep(words[i], *kept[i], ids, scratch);
    }
  }
}

void WordModel::encode_and_keep(std::string_view word, KeptWord& kept, std::vector<std::uint32_t>& ids,
                                Scratch& scratch) const {
  const std::size_t before = ids.size();
  encode_anew(word, ids, scratch);
  const std::size_t count = ids.size() - before;
  if (count > kept.ids.size()) return;
  kept.key = key_of(word);
  kept.count = static_cast<std::uint32_t>(count);
  std::copy_n(ids.end() - static_cast<std::ptrdiff_t>(count), count, kept.ids.begin());
}

}  // namespace flowtrain
