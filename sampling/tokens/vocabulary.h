#pragma once
// Texts by number and numbers by text: flat tables that a look-up touches once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

inline constexpr std::uint32_t no_token = 0xffffffff;
/// The bound of ids in files, so that a damaged one cannot fill memory.
inline constexpr std::uint32_t max_token_id = 1 << 24;
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
  static std::size_t place(const std::vector<Slot>& slots, std::uint64_t key) {
    std::uint64_t hash = key * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    std::size_t at = hash & (slots.size() - 1);
    while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 64 : 2 * slots_.size());
    for (const Slot& slot : slots_)
      if (slot.key != 0) larger[place(larger, slot.key)] = slot;
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;
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

}  // namespace flowtrain
