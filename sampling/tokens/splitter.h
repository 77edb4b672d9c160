#pragma once
// Splits texts into the words that a model encodes: "pre_tokenizer" in a tokenizer.json.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/text_pattern.h"
#include "sampling/tokens/word_model.h"
#include "sampling/tokens/word_scanner.h"

namespace flowtrain {

/// The fate of what a pattern finds.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Steps that follow each other; each splits the pieces further.
class Splitter {
 public:
  /// Appends the pieces of a piece. `at_begin`: it begins the whole text. Texts that differ are kept in the scratch.
  using Step = std::function<void(std::string_view piece, bool at_begin, std::vector<std::string_view>& pieces,
                                  Scratch& scratch)>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  /// Says that a step does something else with the piece that begins the text.
  void mark_begin() { marks_begin_ = true; }
  bool marks_begin() const { return marks_begin_; }
  /// Adds a step that splits as a known pattern does.
  void add(WordRules rules);

  /// Calls word(piece) for the pieces of a text, which are not empty.
  template <class Word>
  void each(std::string_view text, bool at_begin, Scratch& scratch, Word&& word) const {
    if (only_rules_) {
      const auto* classes = unicode_classes();
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = word_end(*only_rules_, classes, text, at);
        word(text.substr(at, end - at));
        at = end;
      }
      return;
    }
    split(text, at_begin, scratch);
    for (const auto piece : scratch.pieces)
      if (!piece.empty()) word(piece);
  }

 private:
  static const std::uint8_t* unicode_classes();
  void split(std::string_view text, bool at_begin, Scratch& scratch) const;

  std::vector<Step> steps_;
  bool marks_begin_ = false;
  std::optional<WordRules> only_rules_;  ///< the only step is add(rules)
};

namespace split {

/// Splits at the places that `find(text, found)` reports as found(begin, end), from the left.
using Finder = std::function<void(std::string_view, const std::function<void(std::size_t, std::size_t)>&)>;
Splitter::Step at(Finder find, SplitBehavior behavior, bool inverted = false);
Finder pattern(const std::string& pattern);
Finder literal(std::string text);
/// Finds runs of characters of these classes (unicode::Class), or each of them.
Finder characters(unsigned classes, bool each);
/// Finds runs of \w and runs of what is neither \w nor white space.
Finder words_and_signs();
/// Removes white space, and makes each mark of punctuation a piece.
Splitter::Step bert();
/// Puts a space before a piece that begins with none.
Splitter::Step prefix_space();

/// The pieces before which "Metaspace" puts its sign.
enum class Prepend { always, first, never };
Splitter::Step metaspace(std::string sign, Prepend prepend, bool splits);

}  // namespace split

}  // namespace flowtrain
