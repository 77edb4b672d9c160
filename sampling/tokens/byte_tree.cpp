#include "sampling/tokens/byte_tree.h"

#include <algorithm>

namespace flowtrain {

ByteTree::ByteTree(std::vector<std::pair<std::string_view, std::uint32_t>> texts) : nodes_(1 + 512) {
  std::ranges::sort(texts);
  std::vector<Branch> branches{{0, 0, texts.size(), 0}};
  std::vector<unsigned char> bytes;
  while (!branches.empty()) {
    auto [node, begin, end, depth] = branches.back();
    branches.pop_back();
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
