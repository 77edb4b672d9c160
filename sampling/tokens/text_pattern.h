#pragma once
// Regular expressions over texts in UTF-8, from files that nobody vouches for: PCRE2, compiled to machine code where it
// can be.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sampling/tokens/unicode.h"

struct pcre2_real_code_8;

namespace flowtrain {

/// A pattern as Oniguruma reads it with Ruby's syntax: \s is White_Space, \h a hexadecimal digit, \w Alphabetic,
/// marks, digits and connectors; \d and \p are of Unicode; ^ and $ are the borders of lines.
class TextPattern {
 public:
  /// Throws std::invalid_argument that says why a text is no pattern.
  explicit TextPattern(const std::string& text);

  /// Calls found(begin, end) for each match from the left; one without a character does not follow another match at
  /// once. Throws SampleError if the search takes too many steps.
  template <class Found>
  void each(std::string_view text, Found&& found) const {
    std::size_t last = text.npos;  // the end of the match before
    for (std::size_t from = 0, begin = 0, end = 0; from <= text.size() && next(text, from, begin, end);) {
      if (begin == end && end == last) {
        from = from < text.size() ? from + unicode::character_at(text, from).bytes : text.size() + 1;
        continue;
      }
      found(begin, end);
      from = last = end;
    }
  }

 private:
  bool next(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end) const;

  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace flowtrain
