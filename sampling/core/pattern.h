#pragma once
// Regular expressions of names, from configurations and command lines.

#include <memory>
#include <stdexcept>
#include <string>

struct pcre2_real_code_8;

namespace flowtrain {

/// Why a pattern cannot be used: the end of a sentence that begins with where it was written.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A regular expression, Perl's as PCRE2 has it (Python's and JavaScript's are much the same), over bytes. Whatever is
/// written, neither reading it nor looking for it takes more than a bounded number of steps and bytes: patterns come
/// from strangers' files, too, and std::regex overflows its stack and its numbers there.
class Pattern {
 public:
  /// Throws PatternError for what is no regular expression, or longer than 1,000 characters.
  explicit Pattern(const std::string& text);

  /// Whether it matches anywhere in `name`. Throws PatternError where finding that out takes too many steps.
  bool found_in(const std::string& name) const;
  /// `name` with `by` in place of each match; $1 … in it are the match's groups, $0 is all of it. Throws PatternError
  /// as found_in(), and where `by` names a group that there is not.
  std::string replaced(const std::string& name, const std::string& by) const;

 private:
  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace flowtrain
