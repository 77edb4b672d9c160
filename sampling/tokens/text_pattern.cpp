#include "sampling/tokens/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>
#include <stdexcept>

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

/// Returns the pattern with White_Space for \s: PCRE2's own has U+180E, too.
std::string with_unicode_space(const std::string& text) {
  constexpr const char* space = R"(\t-\r\x{85}\p{Z})";
  std::string all;
  bool in_class = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] == '\\' && next != '\0') {
      if (next == 's')
        all += in_class ? space : concat('[', space, ']');
      else if (next == 'S' && !in_class)
        all += concat("[^", space, ']');
      else
        all.append({'\\', next});
      ++at;
      continue;
    }
    if (text[at] == '[') in_class = true;
    if (text[at] == ']') in_class = false;
    all += text[at];
  }
  return all;
}

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
  const std::string own = with_unicode_space(text);
  int code = 0;
  std::size_t at = 0;
  code_.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(own.data()), own.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY,
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
