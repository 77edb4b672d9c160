#include "sampling/samplers/decorators/guarded_row.h"

#include <algorithm>

#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::size_t alignment = 64;    // of a field in a batch
constexpr std::size_t guard_bytes = 64;  // before each field, and after it at least so many
constexpr std::byte guard{0xC3};

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

void GuardedRow::prepare(const std::vector<Field>& fields, std::byte fill) {
  std::size_t bytes = alignment;
  for (auto& field : fields) bytes += guard_bytes + aligned(field.row_bytes()) + guard_bytes;
  memory_.assign(bytes, guard);
  starts_.clear();
  void* start = memory_.data();
  std::size_t room = memory_.size();
  auto* next = static_cast<std::byte*>(std::align(alignment, 1, start, room));
  for (auto& field : fields) {
    starts_.push_back(next + guard_bytes);
    std::fill_n(starts_.back(), field.row_bytes(), fill);
    next += guard_bytes + aligned(field.row_bytes()) + guard_bytes;
  }
}

std::string GuardedRow::damage(const std::vector<Field>& fields) const {
  const auto written = [](std::byte byte) { return byte != guard; };
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::byte* const begin = starts_[i];
    const std::byte* const end = begin + fields[i].row_bytes();
    const std::byte* const after = begin + aligned(fields[i].row_bytes()) + guard_bytes;
    if (const auto* found = std::find_if(end, after, written); found != after)
      return concat(found - end + 1, " bytes after the end of field '", fields[i].name, "'");
    if (const auto* found = std::find_if(begin - guard_bytes, begin, written); found != begin)
      return concat(begin - found, " bytes before the start of field '", fields[i].name, "'");
  }
  return {};
}

}  // namespace flowtrain
