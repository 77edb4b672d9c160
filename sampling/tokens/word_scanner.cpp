#include "sampling/tokens/word_scanner.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

using unicode::Character;

// clang-format off
constexpr const char* gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* gpt4_begin = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr const char* gpt4_end = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* gpt4o_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tiktoken_gpt2 = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
constexpr const char* tiktoken_cl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
// clang-format on

/// A place in a text, and what lies there.
struct Scan {
  const std::uint8_t* classes;
  std::string_view text;

  bool ended(std::size_t at) const { return at >= text.size(); }
  unsigned char byte(std::size_t at) const { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0; }
  std::uint8_t class_at(std::size_t at) const {
    if (ended(at)) return 0;
    const unsigned char first = byte(at);
    return classes[first < 0x80 ? first : unicode::character_at(text, at).code];
  }
  std::size_t next(std::size_t at) const { return at + (byte(at) < 0x80 ? 1 : unicode::character_at(text, at).bytes); }

  /// Returns the end of the characters of these classes. Letters of ASCII are told eight at a time.
  std::size_t run(std::size_t at, unsigned wanted) const {
    if (wanted == unicode::letter)
      at = letters_end(at, 0x20, 'a');
    else if (wanted == unicode::head || wanted == unicode::tail)
      at = letters_end(at, 0, wanted == unicode::head ? 'A' : 'a');
    while (at < text.size()) {
      const auto first = static_cast<unsigned char>(text[at]);
      if (first < 0x80) {
        if (!(classes[first] & wanted)) break;
        ++at;
      } else {
        const Character character = unicode::character_at(text, at);
        if (!(classes[character.code] & wanted)) break;
        at += character.bytes;
      }
    }
    return at;
  }

  /// Returns a place in the run of 26 letters of ASCII from `first` on, of bytes with the bits of `fold` set: its end,
  /// where eight bytes of text are left.
  std::size_t letters_end(std::size_t at, unsigned char fold, unsigned char first) const {
    constexpr std::uint64_t each = 0x0101010101010101, high = 0x80 * each;
    for (; at + 8 <= text.size(); at += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text.data() + at, sizeof bytes);
      const std::uint64_t low = (bytes | fold * each) & ~high;  // sums of seven bits never carry into the next byte
      const std::uint64_t letters = (low + (0x80u - first) * each) & ~(low + (0x80u - first - 26) * each) & ~bytes;
      if (const auto others = ~letters & high; others != 0)
        return at + static_cast<std::size_t>(std::countr_zero(others)) / 8;
    }
    return at;
  }

  std::size_t run(std::size_t at, unsigned wanted, std::size_t most) const {
    for (std::size_t count = 0; (count < most) && (class_at(at) & wanted); ++count) at = next(at);
    return at;
  }

  bool newline(std::size_t at) const { return !ended(at) && (text[at] == '\n' || text[at] == '\r'); }

  /// Returns the end of 's, 't, 're, 've, 'm, 'll or 'd at `at`; `at` if there is none.
  std::size_t contraction(std::size_t at, bool any_case) const {
    if (byte(at) != '\'') return at;
    const auto lower = [&](std::size_t place) -> unsigned char {
      const unsigned char c = byte(place);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c | 0x20) : c;
    };
    const unsigned char first = lower(at + 1), second = lower(at + 2);
    if (first == 's' || first == 'd' || first == 'm' || first == 't') return at + 2;
    if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) return at + 3;
    if (any_case && first == 0xc5 && byte(at + 2) == 0xbf) return at + 3;  // U+017F is an s in another case
    return at;
  }
};

/// Returns the end of white space at `at`: all but the last character where a word follows.
std::size_t spaces_end(const Scan& scan, std::size_t at, bool newlines_end, bool joins_last) {
  const std::size_t end = scan.run(at, unicode::space);
  if (joins_last && scan.ended(end)) return end;
  if (newlines_end)
    for (std::size_t last = end; last > at; --last)
      if (scan.newline(last - 1)) return last;
  if (scan.ended(end)) return end;
  const std::size_t last = end - unicode::character_before(scan.text, end).bytes;
  return last == at ? end : last;
}

std::size_t others_end(const Scan& scan, std::size_t at, bool slashes) {
  at = scan.run(at, unicode::other);
  while (scan.newline(at) || (slashes && scan.byte(at) == '/' && !scan.ended(at))) ++at;
  return at;
}

std::size_t gpt2_end(const WordRules& rules, const Scan& scan, std::size_t at) {
  if (const auto end = scan.contraction(at, false); end != at) return end;
  const std::size_t begin = scan.byte(at) == ' ' ? at + 1 : at;
  const std::uint8_t kind = scan.class_at(begin) & (unicode::letter | unicode::number | unicode::other);
  return kind ? scan.run(begin, kind) : spaces_end(scan, at, false, rules.joins_last_spaces);
}

/// Returns the end of what is no letter: a number, signs or white space.
std::size_t plain_end(const WordRules& rules, const Scan& scan, std::size_t at, std::uint8_t kind, bool slashes) {
  if (kind & unicode::number)
    return scan.run(at, unicode::number, rules.most_digits ? rules.most_digits : scan.text.size());
  const std::size_t begin = scan.byte(at) == ' ' ? at + 1 : at;
  if (scan.class_at(begin) & unicode::other) return others_end(scan, begin, slashes);
  return spaces_end(scan, at, true, rules.joins_last_spaces);
}

std::size_t gpt4_end_of(const WordRules& rules, const Scan& scan, std::size_t at) {
  if (const auto end = scan.contraction(at, true); end != at) return end;
  const std::uint8_t kind = scan.class_at(at);
  if (kind & unicode::letter) return scan.run(at, unicode::letter);
  if (!(kind & unicode::number) && !scan.newline(at)) {
    const std::size_t begin = scan.next(at), end = scan.run(begin, unicode::letter);
    if (end != begin) return end;
  }
  return plain_end(rules, scan, at, kind, false);
}

/// Returns the end of capitals and small letters from `at` on; `at` if there are none. Characters without case and
/// marks are both: where capitals come last, the word ends behind the last character that may be a small letter.
std::size_t cased_end(const Scan& scan, std::size_t at) {
  const std::size_t capitals = scan.run(at, unicode::head), end = scan.run(capitals, unicode::tail);
  if (end != capitals) return end;
  for (std::size_t last = capitals; last > at;) {
    const Character character = unicode::character_before(scan.text, last);
    if (scan.classes[character.code] & unicode::tail) return last;
    last -= character.bytes;
  }
  return capitals;
}

std::size_t gpt4o_end(const WordRules& rules, const Scan& scan, std::size_t at) {
  constexpr unsigned cased = unicode::head | unicode::tail;
  const std::uint8_t kind = scan.class_at(at);
  std::size_t begin = at;
  if (!(kind & (unicode::letter | unicode::number)) && !scan.newline(at)) {
    begin = scan.next(at);
    if (!(scan.class_at(begin) & cased)) begin = at;
    // A mark before capitals alone stays a word of its own, as it may be a small letter.
    if (begin != at && (kind & cased)) {
      const std::size_t capitals = scan.run(begin, unicode::head);
      if (scan.run(capitals, unicode::tail) == capitals && cased_end(scan, begin) == capitals &&
          !(scan.classes[unicode::character_before(scan.text, capitals).code] & unicode::tail))
        return scan.contraction(begin, true);
    }
  }
  if (scan.class_at(begin) & cased) return scan.contraction(cased_end(scan, begin), true);
  return plain_end(rules, scan, at, kind, true);
}

std::string gpt4_pattern(const std::string& digits) { return gpt4_begin + digits + gpt4_end; }

}  // namespace

std::optional<WordRules> rules_of_pattern(std::string_view pattern) {
  using enum WordRules::Family;
  static const std::array<std::pair<std::string, WordRules>, 7> known{
      {{gpt2_pattern, {gpt2, 0, false}},
       {tiktoken_gpt2, {gpt2, 0, false}},
       {gpt4_pattern(R"(\p{N}{1,3})"), {gpt4, 3, false}},
       {gpt4_pattern(R"(\p{N})"), {gpt4, 1, false}},
       {gpt4_pattern(R"(\p{N}+)"), {gpt4, 0, false}},
       {tiktoken_cl100k, {gpt4, 3, true}},
       {gpt4o_pattern, {gpt4o, 3, false}}}};
  for (auto& [text, rules] : known)
    if (text == pattern) return rules;
  return std::nullopt;
}

WordRules rules_of_name(std::string_view name) {
  return *rules_of_pattern(name == "cl100k_base" ? tiktoken_cl100k : pattern_of_name(name));
}

std::string pattern_of_name(std::string_view name) {
  if (name == "gpt2") return gpt2_pattern;
  if (name == "o200k_base") return gpt4o_pattern;
  if (name == "cl100k_base" || name == "llama3") return gpt4_pattern(R"(\p{N}{1,3})");
  throw InternalError("no pattern is called '" + std::string(name) + "'");
}

std::size_t word_end(const WordRules& rules, const std::uint8_t* classes, std::string_view text, std::size_t at) {
  const Scan scan{classes, text};
  switch (rules.family) {
    case WordRules::Family::gpt2: return gpt2_end(rules, scan, at);
    case WordRules::Family::gpt4: return gpt4_end_of(rules, scan, at);
    case WordRules::Family::gpt4o: return gpt4o_end(rules, scan, at);
  }
  return text.size();
}

}  // namespace flowtrain
