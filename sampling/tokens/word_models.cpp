#include <algorithm>
#include <limits>
#include <utility>

#include "sampling/tokens/unicode.h"
#include "sampling/tokens/word_model.h"

namespace flowtrain {

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
  for (std::size_t at = 0; at < word.size();) {
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
