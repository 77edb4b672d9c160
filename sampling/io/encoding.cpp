#include "sampling/io/encoding.h"

#include <iconv.h>

#include <algorithm>
#include <utility>

namespace flowtrain {

namespace {

constexpr std::pair<std::string_view, std::string_view> marks[] = {
    {"\xef\xbb\xbf", "UTF-8"}, {"\xff\xfe", "UTF-16LE"}, {"\xfe\xff", "UTF-16BE"}};

}  // namespace

std::string without_mark(std::string_view text) {
  for (const auto& [mark, encoding] : marks)
    if (text.starts_with(mark)) {
      text.remove_prefix(mark.size());
      return in_utf8(text, std::string(encoding)).value_or(std::string(text));
    }
  return std::string(text);
}

std::optional<std::string> in_utf8(std::string_view text, const std::string& encoding) {
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) > 0; });
  if (is_ascii && !encoding.starts_with("UTF-16")) return std::string(text);
  constexpr std::size_t most_bytes_each = 4, failed = static_cast<std::size_t>(-1);
  std::string converted(most_bytes_each * text.size(), '\0');
  const iconv_t converter = iconv_open("UTF-8", encoding.c_str());
  if (converter == iconv_t(-1)) return {};
  char *from = const_cast<char*>(text.data()), *to = converted.data();  // iconv does not write to its input
  std::size_t left = text.size(), room = converted.size();
  const auto result = iconv(converter, &from, &left, &to, &room);
  iconv_close(converter);
  if (result == failed) return {};
  converted.resize(converted.size() - room);
  return converted;
}

}  // namespace flowtrain
