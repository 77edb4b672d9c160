#pragma once
// Texts in other encodings than UTF-8.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flowtrain {

/// The encoding that a byte order mark at the beginning of the text tells: "UTF-8", "UTF-16LE", "UTF-16BE" or "".
std::string_view marked_encoding(std::string_view text);
/// The text without its byte order mark in UTF-8, if there is a mark and the text is in its encoding; without a mark as
/// it is.
std::string without_mark(std::string_view text);

/// The text, which is in `encoding` (a name that iconv knows), in UTF-8. Nothing where it is not, or the encoding is
/// not known.
std::optional<std::string> in_utf8(std::string_view text, const std::string& encoding);
/// Whether the text is UTF-8.
inline bool is_utf8(std::string_view text) { return in_utf8(text, "UTF-8").has_value(); }

}  // namespace flowtrain
