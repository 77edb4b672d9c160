#include "sampling/tokens/pair_scan.h"

#include <algorithm>
#include <bit>

namespace flowtrain {

std::shared_ptr<const PairScan> PairScan::of(const PairModel& model) {
  if (!model.by_bytes || std::ranges::find(model.bytes, no_token) != model.bytes.end()) return nullptr;
  bool fits = model.vocabulary.size() <= 1u << 21;
  model.merges.each([&](std::uint64_t, const Merge& merge) { fits = fits && merge.rank + 1 < never_made; });
  if (!fits) return nullptr;
  std::shared_ptr<const PairScan> scan(new PairScan(model));
  return scan->is_ordered() ? scan : nullptr;
}

PairScan::PairScan(const PairModel& model)
    : model_(model), made_(model.vocabulary.size(), {0, 0, never_made}), texts_(made_.size()) {
  for (const auto id : model.bytes) made_[id].time = 0;
  filter_.resize(std::bit_ceil(made_.size() / 8 + 2));
  shift_ = static_cast<unsigned>(64 - std::countr_zero(filter_.size()));
  struct Pair {
    std::uint32_t rank, id, left, right;
  };
  std::vector<Pair> all;
  model.merges.each([&](std::uint64_t key, const Merge& merge) {
    all.push_back(
        {merge.rank, merge.id, static_cast<std::uint32_t>((key - 1) >> 32), static_cast<std::uint32_t>(key - 1)});
  });
  std::ranges::sort(all, {}, &Pair::rank);
  for (const auto& [rank, id, left, right] : all) {
    const bool grows = made_[left].time <= rank && made_[right].time <= rank;
    if (made_[id].time != never_made || !grows || !stay_apart(left, right, rank)) continue;
    made_[id] = {left, right, rank + 1};
    // Other pairs never make this token: the parts of one of them merge across before both are there.
    const auto [word, bits] = filter_bits(PairModel::pair_key(left, right));
    filter_[word] |= bits;
  }
  std::vector<std::pair<std::string_view, std::uint32_t>> texts;
  for (std::uint32_t id = 0; id < texts_.size(); ++id)
    if (const auto text = model.vocabulary.text(id); !text.empty()) texts.emplace_back(text, id);
  tree_ = ByteTree(texts);
  for (const auto& [text, id] : texts) {
    texts_[id].bytes = static_cast<std::uint32_t>(text.size());
    texts_[id].shorter = tree_.longest(text.substr(0, text.size() - 1)).number;
  }
}

bool PairScan::is_ordered() const {
  Scratch scratch;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < made_.size(); ++id) {
    if (made_[id].time != never_made || !model_.vocabulary.has(id)) continue;
    ids.clear();
    model_.merge_word(model_.vocabulary.text(id), ids, scratch);
    if (ids.size() == 1) return false;
  }
  return true;
}

/// Returns whether no merge of a rank below `limit` joins parts of two tokens while they are made. It goes back in
/// time: the later one of the last merges of the two is undone, and the parts that touch then must not have merged
/// before. Of equal ranks, the left one comes first.
bool PairScan::stay_apart(std::uint32_t left, std::uint32_t right, std::uint32_t limit) const {
  for (;;) {
    const std::uint64_t key = PairModel::pair_key(left, right);
    if (const auto [word, bits] = filter_bits(key); (filter_[word] & bits) == bits)
      if (const Merge* merge = model_.merges.find(key); merge && merge->rank < limit) return false;
    const Made first = made_[left], second = made_[right];
    if (first.time > second.time) {
      limit = first.time - 1;
      left = first.right;
    } else {
      if (second.time == 0) return true;
      limit = second.time;
      right = second.left;
    }
  }
}

void PairScan::encode(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
  const std::size_t before = ids.size();
  auto& dead = scratch.links;  // places that no encoding of the whole word has, as bits
  bool has_dead = false;
  const auto is_dead = [&](std::size_t at) { return has_dead && (dead[at / 32] >> at % 32 & 1) != 0; };
  std::uint32_t id = tree_.longest(word).number;
  if (model_.takes_whole_words && id != no_token && texts_[id].bytes == word.size()) return ids.push_back(id);
  for (std::size_t at = 0;;) {
    const bool is_first = ids.size() == before;
    while (id != no_token && (made_[id].time == never_made || is_dead(at + texts_[id].bytes) ||
                              (!is_first && !stay_apart(ids.back(), id, no_token))))
      id = texts_[id].shorter;
    if (id != no_token) {
      ids.push_back(id);
      at += texts_[id].bytes;
      if (at == word.size()) return;
      id = tree_.longest(word.substr(at)).number;
      continue;
    }
    if (is_first) return model_.merge_word(word, ids, scratch);  // never for the models that of() takes
    if (!has_dead) dead.assign(word.size() / 32 + 1, 0);
    has_dead = true;
    dead[at / 32] |= 1u << at % 32;
    id = ids.back();
    ids.pop_back();
    at -= texts_[id].bytes;
  }
}

}  // namespace flowtrain
