#include "sampling/tokens/vocabulary.h"

#include <xxhash.h>

#include <algorithm>

#include "sampling/core/parse.h"

namespace flowtrain {

std::string name_of_byte(std::uint8_t byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

std::optional<std::uint8_t> byte_of_name(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || !name.ends_with('>')) return std::nullopt;
  return parse_number<std::uint8_t>(name.substr(3, 2), 16);
}

bool Vocabulary::add(std::string_view text, std::uint32_t id) {
  if (has(id)) return false;
  if (2 * (count_ + 1) > slots_.size()) grow();
  std::size_t at = XXH3_64bits(text.data(), text.size()) & (slots_.size() - 1);
  for (; slots_[at] != no_token; at = (at + 1) & (slots_.size() - 1))
    if (this->text(slots_[at]) == text) return false;
  slots_[at] = id;
  if (id >= places_.size()) places_.resize(id + 1);
  places_[id] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(text.size())};
  bytes_ += text;
  longest_ = std::max(longest_, text.size());
  ++count_;
  return true;
}

std::uint32_t Vocabulary::find(std::string_view text) const {
  if (slots_.empty() || text.size() > longest_) return no_token;
  for (std::size_t at = XXH3_64bits(text.data(), text.size()) & (slots_.size() - 1); slots_[at] != no_token;
       at = (at + 1) & (slots_.size() - 1))
    if (this->text(slots_[at]) == text) return slots_[at];
  return no_token;
}

std::string_view Vocabulary::text(std::uint32_t id) const {
  if (!has(id)) return {};
  return std::string_view(bytes_).substr(places_[id].begin, places_[id].bytes);
}

void Vocabulary::grow() {
  std::vector<std::uint32_t> larger(slots_.empty() ? 64 : 2 * slots_.size(), no_token);
  for (const auto id : slots_) {
    if (id == no_token) continue;
    const auto one = text(id);
    std::size_t at = XXH3_64bits(one.data(), one.size()) & (larger.size() - 1);
    while (larger[at] != no_token) at = (at + 1) & (larger.size() - 1);
    larger[at] = id;
  }
  slots_.swap(larger);
}

void TextTree::add(std::string_view text, std::uint32_t number) {
  Edge* edge = nullptr;
  std::uint32_t node = 0;
  for (const char byte : text) {
    edge = &edges_[key(node, byte)];
    if (edge->node == 0) edge->node = nodes_++;
    node = edge->node;
  }
  if (edge) edge->number = number;
}

ByteTree::ByteTree(std::vector<std::pair<std::string_view, std::uint32_t>> texts) : nodes_(1 + 512) {
  std::ranges::sort(texts);
  std::vector<Branch> branches{{0, 0, texts.size(), 0}};
  std::vector<unsigned char> bytes;
  while (!branches.empty()) {
    const Branch branch = branches.back();
    branches.pop_back();
    const std::size_t depth = branch.depth, end = branch.end;
    const std::uint32_t node = branch.node;
    std::size_t begin = branch.begin;
    if (begin < end && texts[begin].first.size() == depth) nodes_[node].number = texts[begin++].second;
    if (begin == end) continue;
    const auto byte_of = [&](std::size_t i) { return static_cast<unsigned char>(texts[i].first[depth]); };
    bytes.clear();
    for (std::size_t i = begin; i < end; ++i)
      if (bytes.empty() || bytes.back() != byte_of(i)) bytes.push_back(byte_of(i));
    const std::uint32_t base = free_base(bytes);
    nodes_[node].base = base;
    for (const auto byte : bytes) nodes_[base + byte].parent = node;
    for (std::size_t i = begin; i < end;) {
      const auto byte = byte_of(i);
      std::size_t next = i;
      while (next < end && byte_of(next) == byte) ++next;
      branches.push_back({base + byte, i, next, depth + 1});
      i = next;
    }
  }
}

std::uint32_t ByteTree::free_base(const std::vector<unsigned char>& bytes) {
  const auto is_free = [&](std::uint32_t at) { return nodes_[at].parent == no_token; };
  while (!is_free(first_free_)) ++first_free_;
  std::uint32_t tried = 0;
  for (std::uint32_t at = std::max<std::uint32_t>(first_free_, bytes[0]);; ++at) {
    if (at + 512 > nodes_.size()) nodes_.resize(at + at / 2 + 1024);
    if (!is_free(at)) continue;
    const std::uint32_t base = at - bytes[0];
    if (std::ranges::all_of(bytes, [&](auto byte) { return is_free(base + byte); })) return base;
    // The holes that nothing fits into are not tried again.
    if (++tried == 64) first_free_ = at;
  }
}

}  // namespace flowtrain
