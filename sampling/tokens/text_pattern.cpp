#include "sampling/tokens/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
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

/// Returns an Oniguruma pattern (its doc/RE, Ruby's syntax) as PCRE2 writes it. White_Space stands for \s, of which
/// PCRE2's own has U+180E, too. Throws std::invalid_argument for what PCRE2 would read otherwise.
std::string in_pcre2(const std::string& text) {
  constexpr const char *space = R"(\t-\r\x{85}\p{Z})", *hex = "0-9A-Fa-f", *punctuation = "[:punct:]";
  std::string all;
  bool in_class = false;
  const auto put_class = [&](const char* characters, bool inverted) {
    if (in_class && inverted) throw std::invalid_argument("has \\S or \\H within [], which is not supported");
    all += in_class ? characters : concat(inverted ? "[^" : "[", characters, ']');
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest[0] == '\\' && rest.size() > 1) {
      const char name = rest[1];
      ++at;
      if (name == 's' || name == 'S') {
        put_class(space, name == 'S');
      } else if (name == 'h' || name == 'H') {
        put_class(hex, name == 'H');
      } else if (name == 'u' && rest.size() >= 6) {
        all += concat("\\x{", rest.substr(2, 4), '}');
        at += 4;
      } else {
        all.append({'\\', name});
      }
    } else if (!in_class && rest.starts_with("(?")) {
      const auto end = std::min(rest.find_first_not_of("imx-", 2), rest.size());
      const bool has_flags = end < rest.size() && (rest[end] == ':' || rest[end] == ')');
      for (const char flag : rest.substr(0, has_flags ? end : 2)) all += has_flags && flag == 'm' ? 's' : flag;
      at += (has_flags ? end : 2) - 1;
    } else if (in_class && rest.starts_with("&&")) {
      throw std::invalid_argument("has && within [], which is not supported");
    } else if (in_class && rest.starts_with(punctuation)) {
      all += R"(\p{P}\p{S})";
      at += std::string_view(punctuation).size() - 1;
    } else if (in_class && rest.starts_with("[:")) {
      const auto end = std::min(rest.find(":]"), rest.size() - 2) + 2;
      all += rest.substr(0, end);
      at += end - 1;
    } else if (in_class && rest[0] == '[') {
      throw std::invalid_argument("has a class within [], which is not supported");
    } else {
      if (rest[0] == '[') {
        in_class = true;
        // A bracket at the beginning of a class is a character.
        for (const char* const first : {"[^]", "[]"})
          if (rest.starts_with(first)) {
            all += rest.substr(0, std::string_view(first).size() - 1);
            at += std::string_view(first).size() - 1;
            break;
          }
      } else if (rest[0] == ']') {
        in_class = false;
      }
      all += text[at];
    }
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
  const std::string own = in_pcre2(text);
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
