#include "sampling/tokens/character_map.h"

#include <cstring>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::string_view space_sign = "\xe2\x96\x81";  // U+2581

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) return;
  const std::uint32_t size = bytes.size() < 4 ? 0 : number_at(bytes, 0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4)
    throw UserError(ExitCode::data, name + ": damaged: its map of characters ends early", "fetch the file again");
  for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(number_at(bytes, at));
  texts_ = bytes.substr(4 + size);
}

CharacterMap::Found CharacterMap::find(std::string_view text, bool first) const {
  Found found;
  if (units_.empty()) return found;
  const auto offset = [](std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); };
  std::size_t node = offset(units_[0]);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || (units_[node] & 0x800000ff) != byte) break;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if ((unit >> 8 & 1) == 0) continue;
    if (node >= units_.size()) break;
    const std::uint32_t begin = units_[node] & 0x7fffffff;
    if (begin >= texts_.size()) break;
    found.text = std::string_view(texts_).substr(begin, std::min(texts_.find('\0', begin), texts_.size()) - begin);
    found.bytes = at + 1;
    if (first) break;
  }
  return found;
}

Normalizer::Step character_map_step(CharacterMap map, TextTree kept, SpaceRules rules) {
  return [map = std::move(map), kept = std::move(kept), rules](std::string_view text, std::string& into) {
    into.clear();
    const auto next = [&](std::string_view rest) -> CharacterMap::Found {
      std::size_t length = 0;
      kept.each(rest, 0, [&](auto, auto bytes) { length = bytes; });
      if (length != 0) return {rest.substr(0, length), length};
      if (const auto found = map.longest(rest); found.bytes != 0) return found;
      const auto [code, bytes] = unicode::character_at(rest, 0);
      return {code == unicode::broken ? "\xef\xbf\xbd" : rest.substr(0, bytes), bytes};
    };
    while (rules.removes_spaces && !text.empty() && next(text).text == " ") text.remove_prefix(next(text).bytes);
    if (text.empty()) return;
    if (rules.adds_space) into += space_sign;
    bool was_space = rules.removes_spaces;
    while (!text.empty()) {
      auto [form, bytes] = next(text);
      text.remove_prefix(bytes);
      while (was_space && form.starts_with(' ')) form.remove_prefix(1);
      if (form.empty()) continue;
      for (const char c : form) c == ' ' ? into += space_sign : into += c;
      was_space = rules.removes_spaces && form.ends_with(' ');
    }
    if (!rules.removes_spaces) return;
    while (into.ends_with(space_sign)) into.resize(into.size() - space_sign.size());
  };
}

Normalizer::Step precompiled_step(CharacterMap map) {
  return [map = std::move(map)](std::string_view text, std::string& into) {
    into.clear();
    while (!text.empty()) {
      auto grapheme = text.substr(0, unicode::grapheme_end(text, 0));
      text.remove_prefix(grapheme.size());
      if (const auto found = map.shortest(grapheme); grapheme.size() < 6 && found.bytes != 0) {
        into += found.text;
        continue;
      }
      while (!grapheme.empty()) {
        const auto [code, bytes] = unicode::character_at(grapheme, 0);
        const auto found = map.shortest(grapheme.substr(0, bytes));
        found.bytes != 0 ? into += found.text : (unicode::append(into, code), into);
        grapheme.remove_prefix(bytes);
      }
    }
  };
}

}  // namespace flowtrain
