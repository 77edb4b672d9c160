#pragma once
// Texts in other encodings than UTF-8.

#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// The text without its byte order mark in UTF-8, if there is a mark and the text is in its encoding; without a mark as
/// it is.
std::string without_mark(std::string_view text);

/// The text, which is in `encoding` (a name that iconv knows), in UTF-8. Nothing where it is not, or the encoding is
/// not known.
std::optional<std::string> in_utf8(std::string_view text, const std::string& encoding);

}  // namespace flowtrain
