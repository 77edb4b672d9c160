#include "stages/loader/shown_row.h"

#include <span>

namespace flowtrain {

std::vector<ShownField> show_row(const Slab& slab, const RowWork& record) {
  const auto& fields = slab.layout().fields();
  std::vector<std::span<const std::byte>> values;
  for (std::size_t i = 0; i < fields.size(); ++i) values.push_back(slab.bytes_of(record, i));
  return show_row(fields, slab.extents(), values);
}

}  // namespace flowtrain
