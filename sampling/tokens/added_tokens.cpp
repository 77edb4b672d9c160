#include "sampling/tokens/added_tokens.h"

#include <algorithm>
#include <utility>

#include "sampling/tokens/unicode.h"

namespace flowtrain {

void AddedTokens::add(AddedToken token) {
  if (token.text.empty()) return;
  const auto byte = static_cast<unsigned char>(token.text[0]);
  first_[byte] = true;
  only_first_ = only_first_ == -1 || only_first_ == byte ? byte : -2;
  has_plain_ = has_plain_ || !token.special;
  tree_.add(token.text, static_cast<std::uint32_t>(tokens_.size()));
  tokens_.push_back(std::move(token));
}

std::size_t AddedTokens::next_candidate(std::string_view text, std::size_t at) const {
  if (only_first_ >= 0) return std::min(text.find(static_cast<char>(only_first_), at), text.size());
  while (at < text.size() && !first_[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

bool AddedTokens::find(std::string_view text, std::size_t from, bool special, Found& found) const {
  if (tokens_.empty() || (!special && !has_plain_)) return false;
  const auto* classes = unicode::classes();
  const auto is = [&](unicode::Character character, unsigned kind) { return (classes[character.code] & kind) != 0; };
  for (std::size_t at = found.next; (at = next_candidate(text, at)) < text.size();) {
    std::uint32_t number = no_token;
    std::size_t length = 0;
    tree_.each(text, at, [&](auto each, auto bytes) { number = each, length = bytes; });
    if (number == no_token) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[number];
    std::size_t begin = at, end = at + length;
    const bool touches =
        token.single_word && ((begin > 0 && is(unicode::character_before(text, begin), unicode::word)) ||
                              (end < text.size() && is(unicode::character_at(text, end), unicode::word)));
    at = end;
    if (touches || (token.special && !special)) continue;
    if (token.left_strips)
      while (begin > from && is(unicode::character_before(text, begin), unicode::space))
        begin -= unicode::character_before(text, begin).bytes;
    if (token.right_strips)
      while (end < text.size() && is(unicode::character_at(text, end), unicode::space))
        end += unicode::character_at(text, end).bytes;
    found = {begin, end, at, token.id};
    return true;
  }
  return false;
}

}  // namespace flowtrain
