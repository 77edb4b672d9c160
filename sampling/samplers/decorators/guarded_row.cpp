#include "sampling/samplers/decorators/guarded_row.h"

#include <algorithm>

#include "sampling/core/text.h"

namespace flowtrain {

void GuardedRow::prepare(const std::vector<Field>& fields, std::span<const std::int64_t> extents, std::byte fill) {
  extents_ = extents;
  memory_.resize(fields.size(), GuardedBytes(0));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t bytes = fields[i].row_bytes(extents_of(fields, i, extents));
    if (this->bytes(i) != bytes) memory_[i] = GuardedBytes(bytes);
  }
  starts_.clear();
  for (auto& bytes : memory_) {
    bytes.restore_guards();
    bytes.fill(fill);
    starts_.push_back(bytes.data());
  }
}

std::string GuardedRow::damage(const std::vector<Field>& fields) const {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto found = memory_[i].overwritten();
    if (!found) continue;
    const auto size = static_cast<std::ptrdiff_t>(bytes(i));
    return *found < 0 ? concat(-*found, " bytes before the start of field '", fields[i].name, "'")
                      : concat(*found - size + 1, " bytes after the end of field '", fields[i].name, "'");
  }
  return {};
}

}  // namespace flowtrain
