#pragma once
// Texts in UTF-8 (RFC 3629), and names from file systems and archives, which may hold any bytes, as such texts.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// Returns a text in UTF-8 unchanged. In other texts each byte that is no part of a UTF-8 character becomes an escape:
/// "café" in Latin-1 is shown as caf\xE9. Equal names stay equal, and JSON, TOML, protobuf and Python can hold them.
std::string as_utf8(std::string_view text);

/// Returns the place of the first byte that is no part of a UTF-8 character; nothing if there is none.
std::optional<std::size_t> first_not_utf8(std::string_view text);

}  // namespace flowtrain
