#include "sampling/samplers/decorators/guarded_row.h"

#include <algorithm>

#include "sampling/core/text.h"

namespace flowtrain {

void GuardedRow::prepare(const std::vector<Field>& fields, std::byte fill) {
  const auto fits = [](const GuardedBytes& bytes, const Field& field) {
    return bytes.bytes().size() == field.row_bytes();
  };
  if (!std::ranges::equal(memory_, fields, fits)) {
    memory_.clear();
    for (auto& field : fields) memory_.emplace_back(field.row_bytes());
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
    const auto size = static_cast<std::ptrdiff_t>(fields[i].row_bytes());
    return *found < 0 ? concat(-*found, " bytes before the start of field '", fields[i].name, "'")
                      : concat(*found - size + 1, " bytes after the end of field '", fields[i].name, "'");
  }
  return {};
}

}  // namespace flowtrain
