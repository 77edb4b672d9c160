#pragma once
// Texts for tests of tokenizers, drawn from all of Unicode.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "sampling/tokens/unicode.h"

namespace flowtrain::test {

/// Draws texts of words, signs and characters of many scripts.
class DrawnTexts {
 public:
  explicit DrawnTexts(std::uint32_t seed) : random_(seed) {}

  std::string text(std::size_t pieces) {
    std::string all;
    for (std::size_t i = 0; i < pieces; ++i) add_piece(all);
    return all;
  }
  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  void add_piece(std::string& all) {
    static constexpr std::array words{"It's",       "I'LL",       "we'Ve",
                                      "'s",         "'S",         "don't",
                                      "'",          "'ſ",         " \n\n",
                                      "\r\n",       "\t\t",       "     ",
                                      "\u00a0",     "\u3000",     "\u0085",
                                      " 123456",    "a1b2",       "...",
                                      "///\n",      "--\r\n",     "é",
                                      "é",          "ǅ",          "ʰ",
                                      "ª",          "漢字かな",   " the",
                                      "HTMLParser", "x = y + 1;", "हिन्दी",
                                      "ไทย",        "العربية",    "🤦🏼‍♂️",
                                      "\n",         " ",          "  \n  ",
                                      "a/b",        "٣٤٥٦"};
    if (below(3) != 0) {
      all += words[below(words.size())];
      return;
    }
    static constexpr std::array<std::pair<char32_t, char32_t>, 14> ranges{{{0x20, 0x7f},
                                                                           {0x80, 0x250},
                                                                           {0x300, 0x370},
                                                                           {0x370, 0x530},
                                                                           {0x590, 0x700},
                                                                           {0x900, 0xe00},
                                                                           {0x1100, 0x1200},
                                                                           {0x2000, 0x2100},
                                                                           {0x3040, 0x3100},
                                                                           {0x4e00, 0x9fff},
                                                                           {0xac00, 0xd7a3},
                                                                           {0xa640, 0xab60},
                                                                           {0x1d400, 0x1d7ff},
                                                                           {0x1f300, 0x1f9ff}}};
    const auto [first, last] = ranges[below(ranges.size())];
    for (std::size_t count = 1 + below(6); count > 0; --count)
      unicode::append(all, static_cast<char32_t>(first + below(last - first)));
  }

  std::mt19937 random_;
};

}  // namespace flowtrain::test
