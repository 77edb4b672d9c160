#pragma once
// Turns names from file systems and archives, which may hold any bytes, into texts that every format can store.

#include <string>
#include <string_view>

namespace flowtrain {

/// Returns a text in UTF-8 unchanged. In other texts each byte that is no part of a UTF-8 character becomes an escape:
/// "café" in Latin-1 is shown as caf\xE9. Equal names stay equal, and JSON, TOML, protobuf and Python can hold them.
std::string as_utf8(std::string_view text);

}  // namespace flowtrain
