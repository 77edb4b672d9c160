#include "sampling/tokens/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "sampling/tokens/unicode_versions.h"

namespace flowtrain::unicode {
namespace {

bool is_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

/// Letters in circles and squares, which count as alphabetic.
bool is_enclosed_letter(char32_t code) {
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

std::uint8_t class_of(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  std::uint8_t bits = 0;
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: bits = letter | head | word; break;
    case UTF8PROC_CATEGORY_LL: bits = letter | tail | word; break;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: bits = letter | head | tail | word; break;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: bits = other | head | tail | word; break;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL: bits = number | word; break;
    case UTF8PROC_CATEGORY_NO: bits = number; break;
    case UTF8PROC_CATEGORY_PC: bits = other | word | punctuation; break;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: bits = other | punctuation; break;
    default: bits = is_space(code) ? space : other; break;
  }
  if (is_enclosed_letter(code) || code == 0x200c || code == 0x200d) bits |= word;
  if (code > 0x20 && code < 0x7f && (bits & other)) bits |= punctuation;
  return bits;
}

constexpr std::uint8_t capital = letter | head | word, small = letter | tail | word, caseless = capital | small,
                       mark = other | head | tail | word, digit = number | word;

struct Classed {
  char32_t first, last;
  std::uint8_t bits;
};

/// Letters, marks and digits that Unicode 15.1 and 16 have added to what utf8proc knows.
constexpr Classed newer[] = {{0x897, 0x897, mark},         {0x1c89, 0x1c89, capital},    {0x1c8a, 0x1c8a, small},
                             {0xa7cb, 0xa7cc, capital},    {0xa7cd, 0xa7cd, small},      {0xa7da, 0xa7da, capital},
                             {0xa7db, 0xa7db, small},      {0xa7dc, 0xa7dc, capital},    {0x105c0, 0x105f3, caseless},
                             {0x10d40, 0x10d49, digit},    {0x10d4a, 0x10d4f, caseless}, {0x10d50, 0x10d65, capital},
                             {0x10d69, 0x10d6d, mark},     {0x10d6f, 0x10d6f, caseless}, {0x10d70, 0x10d85, small},
                             {0x10ec2, 0x10ec4, caseless}, {0x10efc, 0x10efc, mark},     {0x11380, 0x11389, caseless},
                             {0x1138b, 0x1138b, caseless}, {0x1138e, 0x1138e, caseless}, {0x11390, 0x113b5, caseless},
                             {0x113b7, 0x113b7, caseless}, {0x113b8, 0x113c0, mark},     {0x113c2, 0x113c2, mark},
                             {0x113c5, 0x113c5, mark},     {0x113c7, 0x113ca, mark},     {0x113cc, 0x113d0, mark},
                             {0x113d1, 0x113d1, caseless}, {0x113d2, 0x113d2, mark},     {0x113d3, 0x113d3, caseless},
                             {0x113e1, 0x113e2, mark},     {0x116d0, 0x116e3, digit},    {0x11bc0, 0x11be0, caseless},
                             {0x11bf0, 0x11bf9, digit},    {0x11f5a, 0x11f5a, mark},     {0x13460, 0x143fa, caseless},
                             {0x16100, 0x1611d, caseless}, {0x1611e, 0x1612f, mark},     {0x16130, 0x16139, digit},
                             {0x16d40, 0x16d6c, caseless}, {0x16d70, 0x16d79, digit},    {0x18cff, 0x18cff, caseless},
                             {0x1ccf0, 0x1ccf9, digit},    {0x1e5d0, 0x1e5ed, caseless}, {0x1e5ee, 0x1e5ef, mark},
                             {0x1e5f0, 0x1e5f0, caseless}, {0x1e5f1, 0x1e5fa, digit},    {0x2ebf0, 0x2ee5d, caseless}};

std::vector<std::uint8_t> all_classes() {
  std::vector<std::uint8_t> all(code_points, other);
  for (char32_t code = 0; code < broken; ++code)
    if (code < 0xd800 || code > 0xdfff) all[code] = class_of(code);
  for (const Classed& range : newer) std::fill(all.begin() + range.first, all.begin() + range.last + 1, range.bits);
  const auto punctuate = [&](const Range& range, bool is) {
    for (char32_t code = range.first; code <= range.last; ++code)
      all[code] = static_cast<std::uint8_t>(is ? all[code] | punctuation : all[code] & ~punctuation);
  };
  for (const Range& range : not_punctuation) punctuate(range, false);
  for (const Range& range : more_punctuation) punctuate(range, true);
  return all;
}

utf8proc_category_t category_of(char32_t code) {
  return code == broken ? UTF8PROC_CATEGORY_CN : utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

const std::uint8_t* classes() {
  static const std::vector<std::uint8_t> all = all_classes();
  return all.data();
}

Character character_before(std::string_view text, std::size_t end) {
  for (std::size_t bytes = 2; bytes <= std::min<std::size_t>(4, end); ++bytes)
    if (const auto found = character_at(text.substr(0, end), end - bytes); found.bytes == bytes) return found;
  return character_at(text.substr(0, end), end - 1);
}

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  const auto known = [](char32_t code) { return static_cast<utf8proc_int32_t>(code == broken ? 0xfffd : code); };
  auto [last, size] = character_at(text, at);
  utf8proc_int32_t state = 0;
  for (at += size; at < text.size(); at += size) {
    const auto next = character_at(text, at);
    if (utf8proc_grapheme_break_stateful(known(last), known(next.code), &state)) break;
    last = next.code;
    size = next.bytes;
  }
  return at;
}

void append(std::string& text, char32_t code) {
  if (code >= broken) code = 0xfffd;
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

void normalize(std::string_view text, Form form, std::string& into) {
  thread_local std::vector<utf8proc_int32_t> codes;
  into.clear();
  if (std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; })) {
    into = text;
    return;
  }
  const bool composes = form == Form::nfc || form == Form::nfkc, compatible = form == Form::nfkc || form == Form::nfkd;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0) |
                                                      (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE));
  const auto pieces =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0) | UTF8PROC_DECOMPOSE);
  codes.clear();
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = character_at(text, at);
    at += bytes;
    if (is_in(not_decomposed, code)) {
      codes.push_back(static_cast<utf8proc_int32_t>(code));
      continue;
    }
    utf8proc_int32_t parts[32];
    int last_class = 0;
    const auto count = utf8proc_decompose_char(code == broken ? 0xfffd : static_cast<utf8proc_int32_t>(code), parts, 32,
                                               pieces, &last_class);
    for (utf8proc_ssize_t i = 0; i < count; ++i) codes.push_back(parts[i]);
  }
  const auto klass = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  for (std::size_t begin = 0; begin < codes.size();) {  // marks that follow each other, sorted by their classes
    std::size_t end = begin;
    while (end < codes.size() && klass(codes[end]) != 0) ++end;
    if (end - begin > 1)
      std::stable_sort(codes.begin() + static_cast<std::ptrdiff_t>(begin),
                       codes.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](auto a, auto b) { return klass(a) < klass(b); });
    begin = end + 1;
  }
  auto left = static_cast<utf8proc_ssize_t>(codes.size());
  if (composes) left = utf8proc_normalize_utf32(codes.data(), left, options);
  for (utf8proc_ssize_t i = 0; i < left; ++i) append(into, static_cast<char32_t>(codes[static_cast<std::size_t>(i)]));
}

void append_lower(std::string& text, char32_t code) {
  if (code == broken) return append(text, code);
  if (code == 0x130) {  // the only character whose lower case is two
    text += "i\u0307";
    return;
  }
  for (const Capitals& capitals : newer_capitals)
    if (code >= capitals.first && code <= capitals.last)
      return append(text, static_cast<char32_t>(static_cast<int>(code) + capitals.distance));
  append(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
}

bool is_mark(char32_t code) {
  const auto category = category_of(code);
  const bool is = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
  return is ? !is_in(not_marks, code) : is_in(more_marks, code);
}

bool is_nonspacing_mark(char32_t code) {
  const bool is = category_of(code) == UTF8PROC_CATEGORY_MN;
  return is ? !is_in(not_nonspacing, code) : is_in(more_nonspacing, code);
}

bool is_control(char32_t code) {
  const auto category = category_of(code);
  const bool is =
      category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
  return is && !is_in(not_control, code);
}

}  // namespace flowtrain::unicode
