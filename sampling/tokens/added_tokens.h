#pragma once
// Tokens that are found in a text before it is split into words.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/vocabulary.h"

namespace flowtrain {

/// A token of "added_tokens" in a tokenizer.json, and its flags.
struct AddedToken {
  std::string text;
  std::uint32_t id = 0;
  bool special = false;                            ///< found only where special tokens are asked for
  bool single_word = false;                        ///< must not touch letters, digits and marks
  bool left_strips = false, right_strips = false;  ///< takes the white space beside it
  bool normalized = false;                         ///< found in the text's normal form
};

/// A set of them. In a text the leftmost is found, the longest of those that begin there. White space behind a token
/// that takes it may be another token, which is found, too, as Hugging Face's `tokenizers` do.
class AddedTokens {
 public:
  void add(AddedToken token);
  bool empty() const { return tokens_.empty(); }

  /// Cuts a text at the tokens that `special` allows: calls on_text(piece) for what is between them, which is never
  /// empty, and on_token(id).
  template <class OnText, class OnToken>
  void cut(std::string_view text, bool special, OnText&& on_text, OnToken&& on_token) const {
    std::size_t from = 0;
    for (Found found{}; find(text, from, special, found);) {
      if (found.begin > from) on_text(text.substr(from, found.begin - from));
      on_token(found.id);
      from = found.end;
    }
    if (from < text.size()) on_text(text.substr(from));
  }

 private:
  struct Found {
    std::size_t begin, end;
    std::size_t next;  ///< the search goes on here: before `end`, if the token takes white space behind it
    std::uint32_t id;
  };
  /// Finds a token from `found.next` on; the text before `from` was taken.
  bool find(std::string_view text, std::size_t from, bool special, Found& found) const;
  std::size_t next_candidate(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  TextTree tree_;
  std::array<bool, 256> first_{};
  int only_first_ = -1;  ///< the byte that all begin with; -2: there are several
  bool has_plain_ = false;
};

}  // namespace flowtrain
