#include <algorithm>
#include <limits>

#include "sampling/tokens/unicode.h"
#include "sampling/tokens/word_model.h"

namespace flowtrain {

void WordPieceModel::encode(std::string_view word, std::vector<std::uint32_t>& ids, Scratch&) const {
  const std::size_t before = ids.size();
  const auto fail = [&] {
    ids.resize(before);
    if (unknown != no_token) ids.push_back(unknown);
  };
  std::size_t characters = 0;
  for (std::size_t at = 0; at < word.size(); at += unicode::character_at(word, at).bytes) ++characters;
  if (characters > most_characters) return fail();
  thread_local std::string name;  // `word` may lie in a text of the scratch
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t inner = begin == 0 ? 0 : prefix.size();
    std::size_t end = std::min(word.size(), begin + vocabulary.longest());
    std::uint32_t id = no_token;
    name.assign(begin == 0 ? "" : prefix);
    name += word.substr(begin, end - begin);
    while (end > begin) {
      id = vocabulary.find(std::string_view(name).substr(0, inner + end - begin));
      if (id != no_token) break;
      end -= unicode::character_before(word, end).bytes;
    }
    if (id == no_token || end <= begin) return fail();
    ids.push_back(id);
    begin = end;
  }
}

void UnigramModel::encode(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const {
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
