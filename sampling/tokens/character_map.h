#pragma once
// Normal forms of SentencePiece: a map of characters to texts, precompiled as a double array
// (github.com/s-yata/darts-clone).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/normalizer.h"
#include "sampling/tokens/vocabulary.h"

namespace flowtrain {

/// The map of "precompiled_charsmap". An empty one changes nothing.
class CharacterMap {
 public:
  CharacterMap() = default;
  /// Throws UserError(data) that begins with `name` for a damaged one.
  CharacterMap(std::string_view bytes, const std::string& name);

  struct Found {
    std::string_view text;  ///< stands for what begins at the place
    std::size_t bytes = 0;  ///< 0: it has no such beginning
  };
  /// Returns the longest, or the shortest, beginning of a text that the map has.
  Found longest(std::string_view text) const { return find(text, false); }
  Found shortest(std::string_view text) const { return find(text, true); }

 private:
  Found find(std::string_view text, bool first) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// Choices of "normalizer_spec".
struct SpaceRules {
  bool adds_space = true, removes_spaces = true;
};

/// Returns the step that applies the map and writes spaces as U+2581; `kept` are texts that stay as they are.
Normalizer::Step character_map_step(CharacterMap map, TextTree kept, SpaceRules rules);

/// Returns the step "Precompiled" of a tokenizer.json, which knows the map another way than SentencePiece does: a
/// grapheme of fewer than 6 bytes becomes what the map has for its shortest beginning, else each character does.
Normalizer::Step precompiled_step(CharacterMap map);

}  // namespace flowtrain
