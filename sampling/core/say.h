#pragma once
// Sentences of several parts.

#include <sstream>
#include <string>

namespace flowtrain {

/// Joins the parts as `<<` prints them: say("epoch ", 3, " done").
template <class... Parts>
std::string say(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return std::move(out).str();
}

}  // namespace flowtrain
