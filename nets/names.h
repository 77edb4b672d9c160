#pragma once
// Names that users pick from a list: nets, losses, optimizers, metrics.

#include <stdexcept>
#include <string>
#include <vector>

namespace flowtrain::nets {

/// "red, green, blue".
inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// "unknown net 'x'; known: a, b".
inline std::invalid_argument unknown_name(const std::string& kind, const std::string& name,
                                          const std::vector<std::string>& known) {
  return std::invalid_argument("unknown " + kind + " '" + name + "'; known: " + listed(known));
}

}  // namespace flowtrain::nets
