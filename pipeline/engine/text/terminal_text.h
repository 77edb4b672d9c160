#pragma once
// Makes texts of nets harmless for terminals.

#include <string>
#include <string_view>

namespace flowtrain {

/// Returns the text in UTF-8 (as_utf8) with '?' in place of control characters (C0, DEL, C1), which could command a
/// terminal, but for newlines and tabs.
std::string terminal_text(std::string_view text);

}  // namespace flowtrain
