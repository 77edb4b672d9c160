#pragma once
// Texts as a tree of bytes that does not change: a double array (Aoe: An Efficient Digital Search Algorithm by Using a
// Double-Array Structure, 1989), in which a step costs one look-up.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/tokens/vocabulary.h"

namespace flowtrain {

/// The tree. Numbers of texts are less than no_token.
class ByteTree {
 public:
  ByteTree() = default;
  /// Takes texts that are not empty and differ, and their numbers.
  explicit ByteTree(std::vector<std::pair<std::string_view, std::uint32_t>> texts);

  struct Found {
    std::uint32_t number = no_token;
    std::size_t bytes = 0;
  };
  /// Returns the number and the length of the longest text that `text` begins with; no_token if there is none.
  Found longest(std::string_view text) const {
    Found found;
    std::uint32_t node = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::uint32_t next = nodes_[node].base + static_cast<unsigned char>(text[at++]);
      if (nodes_[next].parent != node) break;
      node = next;
      if (nodes_[node].number != no_token) found = {nodes_[node].number, at};
    }
    return found;
  }

 private:
  struct Node {
    std::uint32_t base = 0, parent = no_token, number = no_token;
  };
  struct Branch {
    std::uint32_t node;
    std::size_t begin, end, depth;  ///< texts that pass through the node, and its number of bytes
  };
  std::uint32_t free_base(const std::vector<unsigned char>& bytes);

  std::vector<Node> nodes_ = std::vector<Node>(512);  ///< ends with 256 that are free, so that look-ups need no bounds
  std::uint32_t first_free_ = 1;                      ///< no node before it is free, or few are
};

}  // namespace flowtrain
