#include "sampling/tokens/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::size_t most_characters = 10'000;
constexpr std::uint32_t most_steps = 10'000'000;
constexpr std::uint32_t most_kib = 64 * 1024;

std::string meaning(int code) {
  std::array<PCRE2_UCHAR, 256> text;
  const int length = pcre2_get_error_message(code, text.data(), text.size());
  return length < 0 ? concat("PCRE2's error ", code) : std::string(text.begin(), text.begin() + length);
}

/// Writes an Oniguruma pattern (its doc/RE, Ruby's syntax) as PCRE2 writes it. White_Space stands for \s, of which
/// PCRE2's own has U+180E, too. Throws std::invalid_argument for what PCRE2 would read otherwise.
class PatternWriter {
 public:
  explicit PatternWriter(std::string_view text) : rest_(text) {}

  std::string all() {
    while (!rest_.empty()) in_class_ ? write_in_class() : write_outside();
    return std::move(written_);
  }

 private:
  void copy(std::size_t bytes) { replace(bytes, rest_.substr(0, bytes)); }
  void replace(std::size_t bytes, std::string_view by) {
    written_ += by;
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }

  void write_outside() {
    if (rest_.starts_with('\\')) return write_escape();
    if (rest_.starts_with("(?")) return write_flags();
    in_class_ = rest_.starts_with('[');
    // A closing bracket at the beginning of a class is a character.
    copy(rest_.starts_with("[^]") ? 3 : rest_.starts_with("[]") ? 2 : 1);
  }

  void write_in_class() {
    constexpr std::string_view punctuation = "[:punct:]";
    if (rest_.starts_with('\\')) return write_escape();
    if (rest_.starts_with("&&")) throw std::invalid_argument("has && within [], which is not supported");
    if (rest_.starts_with(punctuation)) return replace(punctuation.size(), R"(\p{P}\p{S})");
    if (rest_.starts_with("[:")) return copy(std::min(rest_.find(":]"), rest_.size()) + 2);
    if (rest_.starts_with('[')) throw std::invalid_argument("has a class within [], which is not supported");
    in_class_ = !rest_.starts_with(']');
    copy(1);
  }

  void write_escape() {
    const char name = rest_.size() > 1 ? rest_[1] : '\0';
    if (name == 's' || name == 'S') return write_class(R"(\t-\r\x{85}\p{Z})", name == 'S');
    if (name == 'h' || name == 'H') return write_class("0-9A-Fa-f", name == 'H');
    if (name == 'u' && rest_.size() >= 6) return replace(6, concat("\\x{", rest_.substr(2, 4), '}'));
    copy(2);
  }

  /// Writes an escape of two bytes as these characters of a class, or as all others.
  void write_class(std::string_view characters, bool inverted) {
    if (in_class_ && inverted) throw std::invalid_argument("has \\S or \\H within [], which is not supported");
    replace(2, in_class_ ? std::string(characters) : concat(inverted ? "[^" : "[", characters, ']'));
  }

  /// Writes "(?" and what follows as flags; m, by which a dot matches the end of a line, too, is s.
  void write_flags() {
    const auto end = rest_.find_first_not_of("imx-", 2);
    if (end == rest_.npos || (rest_[end] != ':' && rest_[end] != ')')) return copy(2);
    std::string flags(rest_.substr(0, end));
    std::ranges::replace(flags, 'm', 's');
    replace(end, flags);
  }

  std::string_view rest_;
  std::string written_;
  bool in_class_ = false;
};

struct Match {
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data{pcre2_match_data_create(1, nullptr),
                                                                           pcre2_match_data_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{pcre2_match_context_create(nullptr),
                                                                                   pcre2_match_context_free};
  Match() {
    if (!data || !limits) throw std::bad_alloc();
    pcre2_set_match_limit(limits.get(), most_steps);
    pcre2_set_heap_limit(limits.get(), most_kib);
  }
};

}  // namespace

TextPattern::TextPattern(const std::string& text) {
  if (text.size() > most_characters) throw std::invalid_argument(concat("has more than ", most_characters, " bytes"));
  const std::string own = PatternWriter(text).all();
  int code = 0;
  std::size_t at = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(own.data()), own.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE,
                            &code, &at, nullptr),
              pcre2_code_free);
  if (!code_) throw std::invalid_argument(concat("is no pattern that is supported: ", meaning(code)));
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if it fails, the pattern is interpreted
}

bool TextPattern::next(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end) const {
  thread_local Match match;
  const int code = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, 0,
                               match.data.get(), match.limits.get());
  if (code == PCRE2_ERROR_NOMATCH) return false;
  if (code < 0) throw SampleError("the tokenizer's pattern cannot split it: " + meaning(code));
  const std::size_t* const places = pcre2_get_ovector_pointer(match.data.get());
  begin = places[0];
  end = places[1];
  return true;
}

}  // namespace flowtrain
