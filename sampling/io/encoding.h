#pragma once
// Texts in other encodings than UTF-8.

#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// Returns the text in UTF-8 without its byte order mark, if it has one and is in that encoding; otherwise unchanged.
std::string without_mark(std::string_view text);

/// Converts the text from `encoding` (a name that iconv knows) to UTF-8. Returns nothing if it is not in that encoding,
/// or the encoding is unknown.
std::optional<std::string> in_utf8(std::string_view text, const std::string& encoding);

}  // namespace flowtrain
