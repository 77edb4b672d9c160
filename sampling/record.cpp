#include <algorithm>
#include <array>

#include "sampling/dataset.h"

namespace flowtrain {

const char* name_of(Encoding encoding) {
  constexpr std::array names{"pixels", "image", "shapes", "bytes", "text", "array", "audio"};
  return names.at(static_cast<std::size_t>(encoding));
}

const Part* Record::part(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &Part::name);
  return found == parts.end() ? nullptr : &*found;
}

}  // namespace flowtrain
