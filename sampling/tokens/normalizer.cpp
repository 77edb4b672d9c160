#include "sampling/tokens/normalizer.h"

#include <array>
#include <utility>

#include "sampling/tokens/text_pattern.h"

namespace flowtrain {

std::string_view Normalizer::apply(std::string_view text, std::string& first, std::string& second) const {
  std::string *from = &first, *into = &second;
  for (const auto& step : steps_) {
    step(text, *into);
    text = *into;
    std::swap(from, into);
  }
  return text;
}

namespace normal {
namespace {

/// Returns a step that calls each(code, into) for the characters.
template <class Each>
Normalizer::Step by_characters(Each each) {
  return [each](std::string_view text, std::string& into) {
    into.clear();
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, bytes] = unicode::character_at(text, at);
      each(code, into);
      at += bytes;
    }
  };
}

bool is_chinese(char32_t code) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                      {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                                      {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (auto& [first, last] : ranges)
    if (code >= first && code <= last) return true;
  return false;
}

}  // namespace

Normalizer::Step form(unicode::Form form) {
  return [form](std::string_view text, std::string& into) { unicode::normalize(text, form, into); };
}

Normalizer::Step lower_case() {
  return by_characters([](char32_t code, std::string& into) { unicode::append_lower(into, code); });
}

Normalizer::Step strip_accents() {
  return by_characters([](char32_t code, std::string& into) {
    if (!unicode::is_mark(code)) unicode::append(into, code);
  });
}

Normalizer::Step strip(bool left, bool right) {
  return [left, right](std::string_view text, std::string& into) {
    while (left && !text.empty() && unicode::is_white(unicode::character_at(text, 0).code))
      text.remove_prefix(unicode::character_at(text, 0).bytes);
    while (right && !text.empty() && unicode::is_white(unicode::character_before(text, text.size()).code))
      text.remove_suffix(unicode::character_before(text, text.size()).bytes);
    into = text;
  };
}

Normalizer::Step prepend(std::string text) {
  return [before = std::move(text)](std::string_view text, std::string& into) {
    into = text.empty() ? "" : before;
    into += text;
  };
}

Normalizer::Step replace(std::string text, std::string by) {
  return [from = std::move(text), by = std::move(by)](std::string_view text, std::string& into) {
    into.clear();
    std::size_t at = 0;
    for (std::size_t found; !from.empty() && (found = text.find(from, at)) != text.npos; at = found + from.size()) {
      into += text.substr(at, found - at);
      into += by;
    }
    into += text.substr(at);
  };
}

Normalizer::Step replace_pattern(const std::string& pattern, std::string by) {
  return [pattern = TextPattern(pattern), by = std::move(by)](std::string_view text, std::string& into) {
    into.clear();
    std::size_t at = 0;
    pattern.each(text, [&](std::size_t begin, std::size_t end) {
      into += text.substr(at, begin - at);
      into += by;
      at = end;
    });
    into += text.substr(at);
  };
}

Normalizer::Step bert(Bert choices) {
  const auto cleaned = by_characters([choices](char32_t code, std::string& into) {
    const bool ends_line = code == '\t' || code == '\n' || code == '\r', blank = ends_line || unicode::is_white(code);
    const bool is_damage = code == 0 || code >= unicode::broken || code == 0xfffd;
    if (choices.cleans && (is_damage || (!ends_line && unicode::is_control(code)))) return;
    if (choices.cleans && blank)
      into += ' ';
    else if (choices.spaces_chinese && is_chinese(code))
      into += ' ', unicode::append(into, code), into += ' ';
    else
      unicode::append(into, code);
  });
  const auto finished = by_characters([choices](char32_t code, std::string& into) {
    if (choices.strips_accents && unicode::is_nonspacing_mark(code)) return;
    choices.lower ? unicode::append_lower(into, code) : unicode::append(into, code);
  });
  std::array<char, 128> ascii{};  // forms of ASCII; 0: left out
  for (char32_t code = 0; code < ascii.size(); ++code) {
    std::string form, lower;
    cleaned(std::string(1, static_cast<char>(code)), form);
    if (!form.empty()) finished(form, lower);
    ascii[code] = lower.empty() ? '\0' : lower[0];
  }
  const bool keeps_nul = !choices.cleans;
  return [=](std::string_view text, std::string& into) {
    thread_local std::string clean, apart, form;
    into.clear();
    const auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
    for (std::size_t at = 0; at < text.size();) {
      for (; at < text.size() && is_ascii(text[at]); ++at)
        if (const char c = ascii[static_cast<unsigned char>(text[at])]; c != 0 || keeps_nul) into += c;
      std::size_t end = at;
      while (end < text.size() && !is_ascii(text[end])) ++end;
      if (end == at) break;
      cleaned(text.substr(at, end - at), clean);
      if (choices.strips_accents) unicode::normalize(clean, unicode::Form::nfd, apart);
      finished(choices.strips_accents ? apart : clean, form);
      into += form;
      at = end;
    }
  };
}

}  // namespace normal

}  // namespace flowtrain
