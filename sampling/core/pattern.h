#pragma once
// Regular expressions for names in configurations and command lines.

#include <memory>
#include <stdexcept>
#include <string>

struct pcre2_real_code_8;

namespace flowtrain {

/// Says why a pattern cannot be used. The message is the end of a sentence that begins with the pattern's place.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A regular expression over bytes, in Perl's syntax as PCRE2 has it (Python's and JavaScript's are similar). The steps
/// and bytes that compiling and matching take are bounded: patterns also come from untrusted files, for which
/// std::regex overflows its stack and its numbers.
class Pattern {
 public:
  /// Throws PatternError for a text that is no regular expression or is longer than 1,000 characters.
  explicit Pattern(const std::string& text);

  /// Returns whether it matches anywhere in `name`. Throws PatternError if the search takes too many steps.
  bool found_in(const std::string& name) const;
  /// Returns `name` with each match replaced by `by`, in which $1 … are the match's groups and $0 is the whole match.
  /// Throws PatternError as found_in(), and if `by` names a group that does not exist.
  std::string replaced(const std::string& name, const std::string& by) const;

 private:
  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace flowtrain
