#include "sampling/tokens/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

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

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

/// Returns null and sets the error's code for a text that PCRE2 does not take.
Code compiled(const std::string& pattern, int& code) {
  std::size_t at = 0;
  return {pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE,
                        &code, &at, nullptr),
          pcre2_code_free};
}

/// The characters of Oniguruma's names, as PCRE2 writes them within []: its own sets differ. Alone, \w has the numbers
/// of Latin-1, too.
constexpr std::string_view word_characters = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})",
                           word_alone = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})",
                           white_space = R"(\t-\r\x{85}\p{Z})", hexadecimal = "0-9A-Fa-f";
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> posix_names{{
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"blank", R"(\t\p{Zs})"},
    {"digit", R"(\p{Nd})"},
    {"graph", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co})"},
    {"lower", R"(\p{Lowercase})"},
    {"print", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs})"},
    {"punct", R"(\p{P}\p{S})"},
    {"space", white_space},
    {"upper", R"(\p{Uppercase})"},
    {"word", word_characters},
    {"xdigit", hexadecimal},
}};

/// Writes an Oniguruma pattern (its doc/RE, Ruby's syntax) as PCRE2 writes it. Throws std::invalid_argument for what
/// PCRE2 would read otherwise.
class PatternWriter {
 public:
  explicit PatternWriter(std::string_view text) : rest_(text) {}

  std::string all() {
    while (!rest_.empty()) write_outside();
    return std::move(written_);
  }

 private:
  std::string_view take(std::size_t bytes) {
    const auto taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void replace(std::size_t bytes, std::string_view by) {
    written_ += by;
    take(bytes);
  }

  void write_outside() {
    if (rest_.starts_with("(?#")) {
      if (rest_.find(')') == rest_.npos) throw std::invalid_argument("has a (?# that no ) closes");
      return replace(rest_.find(')') + 1, "");
    }
    if (ignores_blanks_ && rest_.starts_with('#')) return replace(std::min(rest_.find('\n'), rest_.size()), "");
    if (rest_.starts_with('[')) return write_class();
    if (rest_.starts_with('{') && write_count()) return;
    if (rest_.starts_with("(?")) return write_flags();
    if (rest_.starts_with("{,")) return replace(2, "{0,");
    if (!rest_.starts_with('\\')) return replace(1, rest_.substr(0, 1));
    const char name = rest_.size() > 1 ? rest_[1] : '\0';
    if (const auto set = name == 'w' || name == 'W' ? word_alone : set_of(name); !set.empty())
      return replace(2, concat(is_inverted(name) ? "[^" : "[", set, ']'));
    const auto beside = [](const char* where) { return concat("(?", where, '[', word_alone, "])"); };
    if (name == 'b') return replace(2, concat("(?:", beside("<="), beside("!"), '|', beside("<!"), beside("="), ')'));
    if (name == 'B') return replace(2, concat("(?:", beside("<="), beside("="), '|', beside("<!"), beside("!"), ')'));
    written_ += escape();
  }

  /// Writes "{n}?", which is a count and then perhaps nothing: PCRE2 takes it for a count that stops early.
  bool write_count() {
    const auto end = rest_.find_first_not_of("0123456789", 1);
    if (end == 1 || end == rest_.npos || !rest_.substr(end).starts_with("}?")) return false;
    const auto count = rest_.substr(1, end - 1);
    if (count != "0" && count != "1") throw std::invalid_argument("has {n}?, which is not supported");
    replace(end + 2, count == "0" ? "{0}" : "?");
    return true;
  }

  /// Takes an escape that names no set.
  std::string escape() {
    if (rest_.starts_with("\\v")) return take(2), "\\x{b}";
    if (rest_.starts_with("\\p{") || rest_.starts_with("\\P{")) return property();
    if (rest_.starts_with("\\u") && rest_.size() >= 6) return concat("\\x{", take(6).substr(2), '}');
    return std::string(take(2));
  }

  /// Takes \p{…}. A script has its own characters, and not those that it shares with others, as PCRE2 has it.
  std::string property() {
    const auto end = rest_.find('}');
    if (end == rest_.npos) return std::string(take(rest_.size()));
    const auto whole = take(end + 1);
    auto name = whole.substr(3, end - 3);
    const bool leaves_out = (whole[1] == 'P') != name.starts_with('^');
    if (name.starts_with('^')) name.remove_prefix(1);
    const auto script = concat(leaves_out ? "\\P{sc:" : "\\p{sc:", name, '}');
    int code = 0;
    return compiled(script, code) ? script : std::string(whole);
  }

  static bool is_inverted(char name) { return name >= 'A' && name <= 'Z'; }

  /// Returns the characters of an escape within [], or those that an inverted one leaves out; empty for others.
  static std::string_view set_of(char name) {
    switch (name) {
      case 's':
      case 'S': return white_space;
      case 'h':
      case 'H': return hexadecimal;
      case 'w':
      case 'W': return word_characters;
      default: return {};
    }
  }

  /// Writes a class. What it takes of inverted sets are alternatives, since PCRE2 has no inverted set within [].
  void write_class() {
    const bool is_negated = rest_.starts_with("[^");
    take(is_negated ? 2 : 1);
    std::string items;
    std::vector<std::string> inverted;
    if (rest_.starts_with(']')) items += take(1);  // At the beginning of a class it is a character.
    while (!rest_.empty() && !rest_.starts_with(']')) {
      if (rest_.starts_with("&&")) throw std::invalid_argument("has && within [], which is not supported");
      if (rest_.starts_with("[:")) {
        keep_dash(items);
        add_posix(items, inverted);
        take_dash(items);
      } else if (rest_.starts_with('[')) {
        throw std::invalid_argument("has a class within [], which is not supported");
      } else if (!rest_.starts_with('\\')) {
        items += take(1);
      } else if (const char name = rest_.size() > 1 ? rest_[1] : '\0'; !set_of(name).empty()) {
        keep_dash(items);
        take(2);
        is_inverted(name) ? inverted.push_back(concat("[^", set_of(name), ']')) : void(items += set_of(name));
        take_dash(items);
      } else {
        items += escape();
      }
    }
    if (rest_.empty()) throw std::invalid_argument("has a [ that no ] closes");
    take(1);
    if (inverted.empty()) {
      written_ += concat(is_negated ? "[^" : "[", items, ']');
      return;
    }
    if (items.starts_with('^')) items.insert(0, 1, '\\');  // The set before it is an alternative now.
    if (!items.empty()) inverted.push_back(concat('[', items, ']'));
    written_ += concat("(?:", is_negated ? "(?!" : "", join(inverted, "|"), is_negated ? ")(?s:.))" : ")");
  }

  /// Keeps a dash before or behind a set as a character, as it is no range of what stands there otherwise.
  static void keep_dash(std::string& items) {
    if (items.ends_with('-') && !items.ends_with("\\-")) items.insert(items.size() - 1, 1, '\\');
  }
  void take_dash(std::string& items) {
    if (rest_.starts_with('-')) items += concat('\\', take(1));
  }

  void add_posix(std::string& items, std::vector<std::string>& inverted) {
    const auto end = std::min(rest_.find(":]"), rest_.size());
    auto name = rest_.substr(2, end - 2);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const auto whole = take(end + 2);
    const auto known = std::ranges::find(posix_names, name, &decltype(posix_names)::value_type::first);
    if (known == posix_names.end()) {
      items += whole;
      return;
    }
    const bool is_any_case = ignores_case_ && (name == "upper" || name == "lower");
    const std::string_view set = is_any_case ? R"(\p{Uppercase}\p{Lowercase}\p{Lt})" : known->second;
    is_negated ? inverted.push_back(concat("[^", set, ']')) : void(items += set);
  }

  /// Writes "(?" and what follows as flags; m, by which a dot matches the end of a line, too, is s.
  void write_flags() {
    const auto end = rest_.find_first_not_of("imx-", 2);
    if (end == rest_.npos || (rest_[end] != ':' && rest_[end] != ')')) return replace(2, "(?");
    std::string flags(rest_.substr(0, end));
    const auto is_on = [&](char flag) { return flags.substr(0, flags.find('-')).find(flag) != flags.npos; };
    ignores_case_ = ignores_case_ || is_on('i');
    ignores_blanks_ = ignores_blanks_ || is_on('x');
    std::ranges::replace(flags, 'm', 's');
    replace(end, flags);
  }

  std::string_view rest_;
  std::string written_;
  bool ignores_case_ = false, ignores_blanks_ = false;  ///< flags, from the first one on that sets it
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
  code_ = compiled(own, code);
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
