#include "sampling/tokens/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

namespace flowtrain::unicode {
namespace {

// Code points that Hugging Face's tokenizers class by other versions of Unicode than utf8proc: the crates
// unicode_categories and unicode-normalization-alignments are older, Rust's own tables newer. The lists come from a
// comparison of every code point with tokenizers 0.23.

struct Range {
  char32_t first, last;
};

/// Punctuation for utf8proc alone.
constexpr Range not_punctuation[] = {{0x61d, 0x61d},     {0x9fd, 0x9fd},     {0xa76, 0xa76},     {0xc77, 0xc77},
                                     {0xc84, 0xc84},     {0x1b7d, 0x1b7e},   {0x2e43, 0x2e4f},   {0x2e52, 0x2e5d},
                                     {0x10ead, 0x10ead}, {0x10f55, 0x10f59}, {0x10f86, 0x10f89}, {0x1144b, 0x1144f},
                                     {0x1145a, 0x1145b}, {0x1145d, 0x1145d}, {0x11660, 0x1166c}, {0x116b9, 0x116b9},
                                     {0x1183b, 0x1183b}, {0x11944, 0x11946}, {0x119e2, 0x119e2}, {0x11a3f, 0x11a46},
                                     {0x11a9a, 0x11a9c}, {0x11a9e, 0x11aa2}, {0x11b00, 0x11b09}, {0x11c41, 0x11c45},
                                     {0x11c70, 0x11c71}, {0x11ef7, 0x11ef8}, {0x11f43, 0x11f4f}, {0x11fff, 0x11fff},
                                     {0x12ff1, 0x12ff2}, {0x16e97, 0x16e9a}, {0x16fe2, 0x16fe2}, {0x1e95e, 0x1e95f}};
/// Punctuation for tokenizers alone.
constexpr Range more_punctuation[] = {{0x166d, 0x166d}, {0x111c9, 0x111c9}};
/// Control, format and private characters for utf8proc alone.
constexpr Range not_control[] = {{0x890, 0x891}, {0x8e2, 0x8e2}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}};
/// Nonspacing marks (Mn) for utf8proc alone.
constexpr Range not_nonspacing[] = {
    {0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8e1},     {0x9fe, 0x9fe},     {0xafa, 0xaff},
    {0xb55, 0xb55},     {0xc04, 0xc04},     {0xc3c, 0xc3c},     {0xd00, 0xd00},     {0xd3b, 0xd3c},
    {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x180f},   {0x1885, 0x1886},
    {0x1abf, 0x1ace},   {0x1df6, 0x1dfb},   {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},   {0xa8ff, 0xa8ff},
    {0xa9bd, 0xa9bd},   {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x11073, 0x11074}, {0x110c2, 0x110c2}, {0x111c9, 0x111c9},
    {0x111cf, 0x111cf}, {0x1123e, 0x1123e}, {0x11241, 0x11241}, {0x1133b, 0x1133b}, {0x11438, 0x1143f},
    {0x11442, 0x11444}, {0x11446, 0x11446}, {0x1145e, 0x1145e}, {0x1182f, 0x11837}, {0x11839, 0x1183a},
    {0x1193b, 0x1193c}, {0x1193e, 0x1193e}, {0x11943, 0x11943}, {0x119d4, 0x119d7}, {0x119da, 0x119db},
    {0x119e0, 0x119e0}, {0x11a01, 0x11a0a}, {0x11a33, 0x11a38}, {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47},
    {0x11a51, 0x11a56}, {0x11a59, 0x11a5b}, {0x11a8a, 0x11a96}, {0x11a98, 0x11a99}, {0x11c30, 0x11c36},
    {0x11c38, 0x11c3d}, {0x11c3f, 0x11c3f}, {0x11c92, 0x11ca7}, {0x11caa, 0x11cb0}, {0x11cb2, 0x11cb3},
    {0x11cb5, 0x11cb6}, {0x11d31, 0x11d36}, {0x11d3a, 0x11d3a}, {0x11d3c, 0x11d3d}, {0x11d3f, 0x11d45},
    {0x11d47, 0x11d47}, {0x11d90, 0x11d91}, {0x11d95, 0x11d95}, {0x11d97, 0x11d97}, {0x11ef3, 0x11ef4},
    {0x11f00, 0x11f01}, {0x11f36, 0x11f3a}, {0x11f40, 0x11f40}, {0x11f42, 0x11f42}, {0x13440, 0x13440},
    {0x13447, 0x13455}, {0x16f4f, 0x16f4f}, {0x16fe4, 0x16fe4}, {0x1cf00, 0x1cf2d}, {0x1cf30, 0x1cf46},
    {0x1e000, 0x1e006}, {0x1e008, 0x1e018}, {0x1e01b, 0x1e021}, {0x1e023, 0x1e024}, {0x1e026, 0x1e02a},
    {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef},
    {0x1e944, 0x1e94a}};
/// Nonspacing marks for tokenizers alone.
constexpr Range more_nonspacing[] = {{0x1734, 0x1734}};
/// Marks (M) for utf8proc alone.
constexpr Range not_marks[] = {
    {0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},     {0xafa, 0xaff},
    {0xb55, 0xb55},     {0xc04, 0xc04},     {0xc3c, 0xc3c},     {0xcf3, 0xcf3},     {0xd00, 0xd00},
    {0xd3b, 0xd3c},     {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x1715, 0x1715},
    {0x180f, 0x180f},   {0x1abf, 0x1ace},   {0x1cf7, 0x1cf7},   {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},
    {0xa8ff, 0xa8ff},   {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x11073, 0x11074}, {0x110c2, 0x110c2}, {0x11145, 0x11146},
    {0x111c9, 0x111c9}, {0x111ce, 0x111cf}, {0x11241, 0x11241}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e},
    {0x1182c, 0x1183a}, {0x11930, 0x11935}, {0x11937, 0x11938}, {0x1193b, 0x1193e}, {0x11940, 0x11940},
    {0x11942, 0x11943}, {0x119d1, 0x119d7}, {0x119da, 0x119e0}, {0x119e4, 0x119e4}, {0x11a01, 0x11a0a},
    {0x11a33, 0x11a39}, {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47}, {0x11a51, 0x11a5b}, {0x11a8a, 0x11a99},
    {0x11d31, 0x11d36}, {0x11d3a, 0x11d3a}, {0x11d3c, 0x11d3d}, {0x11d3f, 0x11d45}, {0x11d47, 0x11d47},
    {0x11d8a, 0x11d8e}, {0x11d90, 0x11d91}, {0x11d93, 0x11d97}, {0x11ef3, 0x11ef6}, {0x11f00, 0x11f01},
    {0x11f03, 0x11f03}, {0x11f34, 0x11f3a}, {0x11f3e, 0x11f42}, {0x13440, 0x13440}, {0x13447, 0x13455},
    {0x16f4f, 0x16f4f}, {0x16f7f, 0x16f87}, {0x16fe4, 0x16fe4}, {0x16ff0, 0x16ff1}, {0x1cf00, 0x1cf2d},
    {0x1cf30, 0x1cf46}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
    {0x1e4ec, 0x1e4ef}};
/// Marks for tokenizers alone.
constexpr Range more_marks[] = {{0x1cf2, 0x1cf3}};
/// Characters that tokenizers leave whole in every normal form.
constexpr Range not_decomposed[] = {{0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xab69, 0xab69},   {0x10781, 0x10785},
                                    {0x10787, 0x107b0}, {0x107b2, 0x107ba}, {0x11938, 0x11938}, {0x1e030, 0x1e06d},
                                    {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9}};

/// Capitals that utf8proc does not know, and how far their small letters are.
struct Capitals {
  char32_t first, last;
  int distance;
};
constexpr Capitals newer_capitals[] = {{0x1c89, 0x1c89, 1},   {0xa7cb, 0xa7cb, -42343}, {0xa7cc, 0xa7cc, 1},
                                       {0xa7ce, 0xa7ce, 1},   {0xa7d2, 0xa7d2, 1},      {0xa7d4, 0xa7d4, 1},
                                       {0xa7da, 0xa7da, 1},   {0xa7dc, 0xa7dc, -42561}, {0x10d50, 0x10d65, 32},
                                       {0x16ea0, 0x16eb8, 27}};

/// Returns whether a code point lies in one of the ranges, which are sorted.
template <std::size_t count>
bool is_in(const Range (&ranges)[count], char32_t code) {
  const auto above = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return above != std::begin(ranges) && code <= std::prev(above)->last;
}

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
