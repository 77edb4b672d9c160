#pragma once
// Regular expressions over texts in UTF-8, from files that nobody vouches for: PCRE2, compiled to machine code where it
// can be.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace flowtrain {

/// A pattern as Oniguruma and Rust's regex read it: \s is White_Space, \d, \w and \p{…} are Unicode's.
class TextPattern {
 public:
  /// Throws std::invalid_argument that says why a text is no pattern.
  explicit TextPattern(const std::string& text);

  /// Calls found(begin, end) for each match from the left; matches without a character are left out. Throws
  /// SampleError if the search takes too many steps.
  template <class Found>
  void each(std::string_view text, Found&& found) const {
    for (std::size_t from = 0, begin = 0, end = 0; from <= text.size() && next(text, from, begin, end);) {
      if (end > begin) found(begin, end);
      from = end > begin ? end : end + 1;
    }
  }

 private:
  bool next(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end) const;

  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace flowtrain
