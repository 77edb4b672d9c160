#pragma once
// What libraries say in many lines, cut down to the one that a message has room for.

#include <string>
#include <string_view>

namespace flowtrain {

/// The text before the first line break: of LibTorch's errors without the stack that follows.
inline std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace flowtrain
