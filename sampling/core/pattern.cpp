#include "sampling/core/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>

#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::size_t most_characters = 1000;
constexpr std::uint32_t most_steps = 100'000;  // some milliseconds; names take some hundred
constexpr std::uint32_t most_kib = 16 * 1024;

PCRE2_SPTR bytes(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string meaning(int code) {
  std::array<PCRE2_UCHAR, 256> text;
  const int length = pcre2_get_error_message(code, text.data(), text.size());
  return length < 0 ? concat("PCRE2's error ", code) : std::string(text.begin(), text.begin() + length);
}

PatternError cannot_match(int code, const std::string& name) {
  if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT || code == PCRE2_ERROR_HEAPLIMIT)
    return PatternError(concat("takes more than ", most_steps, " steps to search '", name, "'"));
  return PatternError(concat("cannot be used on '", name, "': ", meaning(code)));
}

/// Returns the bounds of a search, which all patterns share.
pcre2_match_context* limits() {
  static const auto context = [] {
    std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> made(pcre2_match_context_create(nullptr),
                                                                                   pcre2_match_context_free);
    if (!made) throw std::bad_alloc();
    pcre2_set_match_limit(made.get(), most_steps);
    pcre2_set_heap_limit(made.get(), most_kib);
    return made;
  }();
  return context.get();
}

}  // namespace

Pattern::Pattern(const std::string& text) {
  if (text.size() > most_characters)
    throw PatternError(concat("a regular expression has more than ", most_characters, " characters"));
  int code = 0;
  std::size_t at = 0;
  code_.reset(pcre2_compile(bytes(text), text.size(), PCRE2_NEVER_UTF | PCRE2_DOLLAR_ENDONLY, &code, &at, nullptr),
              pcre2_code_free);
  if (!code_) throw PatternError(concat("not a regular expression: ", meaning(code), " (at character ", at + 1, ")"));
}

bool Pattern::found_in(const std::string& name) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
  if (!match) throw std::bad_alloc();
  const int code = pcre2_match(code_.get(), bytes(name), name.size(), 0, 0, match.get(), limits());
  if (code < 0 && code != PCRE2_ERROR_NOMATCH) throw cannot_match(code, name);
  return code >= 0;
}

std::string Pattern::replaced(const std::string& name, const std::string& by) const {
  constexpr auto options = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH;
  std::string text(2 * name.size() + by.size() + 64, '\0');
  std::size_t length = 0;
  const auto substitute = [&] {
    length = text.size();
    return pcre2_substitute(code_.get(), bytes(name), name.size(), 0, options, nullptr, limits(), bytes(by), by.size(),
                            reinterpret_cast<PCRE2_UCHAR*>(text.data()), &length);
  };
  int code = substitute();
  if (code == PCRE2_ERROR_NOMEMORY) {
    text.resize(length);  // the required length, with a zero at the end
    code = substitute();
  }
  if (code < 0) throw cannot_match(code, name);
  text.resize(length);
  return text;
}

}  // namespace flowtrain
