#pragma once
// Named tensors as a line of text.

#include <string>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Their names in their order, with blanks between them.
inline std::string names_of(const NamedTensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace flowtrain::nets
