#include <algorithm>
#include <atomic>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/tokens/pair_scan.h"
#include "sampling/tokens/unicode.h"
#include "sampling/tokens/word_model.h"

namespace flowtrain {
namespace {

constexpr std::size_t longest_short = 48;  // longer words are merged with a heap

/// Warns of the first character that has no token, in a vocabulary without one for such characters.
void tell_left_out(std::string_view character) {
  static std::atomic<bool> told = false;
  if (!told.exchange(true))
    warn(concat("the tokenizer has no token for '", character,
                "', and none for unknown characters: such characters are left out of texts"));
}

}  // namespace

void PairModel::finish() { scan_ = PairScan::of(*this); }

void PairModel::encode_anew(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
  if (scan_) return scan_->encode(word, ids, scratch);
  if (takes_whole_words)
    if (const auto id = vocabulary.find(word); id != no_token) {
      ids.push_back(id);
      return;
    }
  merge_word(word, ids, scratch);
}

void PairModel::merge_word(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  split(word, symbols);
  if (symbols.size() > longest_short)
    merge_long(scratch);
  else if (symbols.size() > 1)
    merge_short(scratch);
  if (text_ids == 0) {
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    return;
  }
  const std::size_t before = ids.size();
  for (const auto symbol : symbols) {
    if (symbol < text_ids) {
      ids.push_back(symbol);
    } else if (bytes[0] == no_token) {
      if (!fuses_unknown || ids.size() == before || ids.back() != unknown) ids.push_back(unknown);
    } else {
      std::string character;
      unicode::append(character, static_cast<char32_t>(symbol - text_ids));
      for (const char byte : character) ids.push_back(bytes[static_cast<unsigned char>(byte)]);
    }
  }
}

void PairModel::split(std::string_view word, std::vector<std::uint32_t>& symbols) const {
  if (!by_bytes) return split_characters(word, symbols);
  for (const char byte : word) {
    const auto id = bytes[static_cast<unsigned char>(byte)];
    if (id != no_token)
      symbols.push_back(id);
    else if (unknown != no_token && !(fuses_unknown && !symbols.empty() && symbols.back() == unknown))
      symbols.push_back(unknown);
  }
}

void PairModel::split_characters(std::string_view word, std::vector<std::uint32_t>& symbols) const {
  for (std::size_t at = 0; at < word.size();) {
    std::uint32_t whole = no_token;
    std::size_t length = 0;
    if (!frozen.empty()) frozen.each(word, at, [&](auto id, auto bytes_of_it) { whole = id, length = bytes_of_it; });
    if (whole != no_token) {
      symbols.push_back(whole);
      at += length;
      continue;
    }
    const auto [code, size] = unicode::character_at(word, at);
    std::string replacement;
    std::string_view character = word.substr(at, size);
    if (code == unicode::broken) {
      unicode::append(replacement, code);
      character = replacement;
    }
    at += size;
    const auto id = vocabulary.find(character);
    if (id != no_token) {
      symbols.push_back(id);
    } else if (text_ids != 0) {
      symbols.push_back(static_cast<std::uint32_t>(text_ids + (code == unicode::broken ? 0xfffd : code)));
    } else if (bytes[static_cast<unsigned char>(character[0])] != no_token) {
      for (const char byte : character) symbols.push_back(bytes[static_cast<unsigned char>(byte)]);
    } else if (unknown != no_token && !(fuses_unknown && !symbols.empty() && symbols.back() == unknown)) {
      symbols.push_back(unknown);
    } else if (unknown == no_token) {
      tell_left_out(character);
    }
  }
}

void PairModel::merge_short(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  std::size_t count = symbols.size();
  std::array<Merge, longest_short> next;  // merges of a symbol with the one behind it
  for (std::size_t i = 0; i + 1 < count; ++i) next[i] = merge_of(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == no_token) break;
    symbols[best] = next[best].id;
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      next[i] = next[i + 1];
    }
    --count;
    if (best + 1 < count) next[best] = merge_of(symbols[best], symbols[best + 1]);
    if (best > 0) next[best - 1] = merge_of(symbols[best - 1], symbols[best]);
  }
  symbols.resize(count);
}

void PairModel::merge_long(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& before = scratch.ranks;
  auto& behind = scratch.links;
  auto& heap = scratch.heap;  // rank and place; the merged id and the left symbol; the right one
  const auto count = static_cast<std::uint32_t>(symbols.size());
  before.resize(count);
  behind.resize(count);
  heap.clear();
  for (std::uint32_t i = 0; i < count; ++i) before[i] = i - 1, behind[i] = i + 1;
  const auto later = [](const auto& a, const auto& b) { return a[0] > b[0]; };
  const auto add = [&](std::uint32_t left) {
    const auto right = behind[left];
    if (right >= count) return;
    const Merge merge = merge_of(symbols[left], symbols[right]);
    if (merge.rank == no_token) return;
    heap.push_back(
        {std::uint64_t{merge.rank} << 32 | left, std::uint64_t{merge.id} << 32 | symbols[left], symbols[right]});
    std::ranges::push_heap(heap, later);
  };
  for (std::uint32_t i = 0; i + 1 < count; ++i) add(i);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, later);
    const auto [where, merged, right_symbol] = heap.back();
    heap.pop_back();
    const auto left = static_cast<std::uint32_t>(where);
    const auto right = behind[left];
    // A symbol that has merged is no_token; others may stand here by now.
    if (symbols[left] != static_cast<std::uint32_t>(merged) || right >= count || symbols[right] != right_symbol)
      continue;
    symbols[left] = static_cast<std::uint32_t>(merged >> 32);
    symbols[right] = no_token;
    behind[left] = behind[right];
    if (behind[left] < count) before[behind[left]] = left;
    add(left);
    if (before[left] < count) add(before[left]);
  }
  std::erase(symbols, no_token);
}

}  // namespace flowtrain
