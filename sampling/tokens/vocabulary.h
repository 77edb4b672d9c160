#pragma once
// Texts by number and numbers by text: flat tables that a look-up touches once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/core/huge_pages.h"

namespace flowtrain {

inline constexpr std::uint32_t no_token = 0xffffffff;
/// The bound of ids in files, so that a damaged one cannot fill memory.
inline constexpr std::uint32_t max_token_id = 1 << 20;
/// The bound of a token's length: the longest of published vocabularies have 256 bytes.
inline constexpr std::size_t max_token_bytes = 1024;

/// Returns "<0x0A>", the name of a byte among characters.
std::string name_of_byte(std::uint8_t byte);
/// Returns the byte of such a name.
std::optional<std::uint8_t> byte_of_name(std::string_view name);

/// Texts of any bytes by id. Ids may have holes.
class Vocabulary {
 public:
  /// Adds a text; returns false, and adds nothing, if its id or the text is there already.
  bool add(std::string_view text, std::uint32_t id);
  /// Returns the id of a text; no_token if there is none.
  std::uint32_t find(std::string_view text) const;
  /// Returns whether an id has a text.
  bool has(std::uint32_t id) const { return id < places_.size() && places_[id].begin != no_token; }
  /// Returns the text of an id; empty if it has none.
  std::string_view text(std::uint32_t id) const;
  /// Returns the number above the largest id.
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
  std::size_t longest() const { return longest_; }

 private:
  struct Place {
    std::uint32_t begin = no_token, bytes = 0;
  };
  void grow();

  std::string bytes_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> slots_;  ///< ids by the hash of their texts
  std::size_t count_ = 0, longest_ = 0;
};

/// Numbers by a key of 64 bits that is not 0.
template <class Value>
class FlatTable {
 public:
  /// Returns the value of a key, which is added if it is new.
  Value& operator[](std::uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(slots_, key)];
    if (slot.key == 0) {
      slot.key = key;
      ++count_;
    }
    return slot.value;
  }
  /// Returns the value of a key; null if there is none.
  const Value* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(slots_, key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  std::size_t size() const { return count_; }
  /// Calls each(key, value), in no order.
  template <class Each>
  void each(Each&& each) const {
    for (const Slot& slot : slots_)
      if (slot.key != 0) each(slot.key, slot.value);
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
  };
  static std::size_t place(const HugeVector<Slot>& slots, std::uint64_t key) {
    std::uint64_t hash = key * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    std::size_t at = hash & (slots.size() - 1);
    while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
    return at;
  }
  void grow() {
    HugeVector<Slot> larger(slots_.empty() ? 64 : 2 * slots_.size());
    for (const Slot& slot : slots_)
      if (slot.key != 0) larger[place(larger, slot.key)] = slot;
    slots_.swap(larger);
  }

  HugeVector<Slot> slots_;
  std::size_t count_ = 0;
};

/// Texts as a tree of bytes: finds those that begin at a place of another text.
class TextTree {
 public:
  /// Adds a text that is not empty; a text that is there gets the new number.
  void add(std::string_view text, std::uint32_t number);
  bool empty() const { return nodes_ == 1; }
  /// Calls found(number, bytes) for each text that begins at `at`, the shortest first.
  template <class Found>
  void each(std::string_view text, std::size_t at, Found&& found) const {
    std::uint32_t node = 0;
    for (std::size_t end = at; end < text.size();) {
      const Edge* edge = edges_.find(key(node, text[end++]));
      if (!edge) return;
      node = edge->node;
      if (edge->number != no_token) found(edge->number, end - at);
    }
  }

 private:
  struct Edge {
    std::uint32_t node = 0, number = no_token;
  };
  static std::uint64_t key(std::uint32_t node, char byte) {
    return (std::uint64_t{node} << 8 | static_cast<unsigned char>(byte)) + 1;
  }
  FlatTable<Edge> edges_;
  std::uint32_t nodes_ = 1;
};

/// Texts as a tree of bytes that does not change: a double array (Aoe: An Efficient Digital Search Algorithm by Using a
/// Double-Array Structure, 1989), in which a step costs one look-up. Numbers of texts are less than no_token.
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

  HugeVector<Node> nodes_ = HugeVector<Node>(512);  ///< ends with 256 that are free, so that look-ups need no bounds
  std::uint32_t first_free_ = 1;                    ///< no node before it is free, or few are
};

}  // namespace flowtrain
