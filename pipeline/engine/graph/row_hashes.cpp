#include "pipeline/engine/graph/row_hashes.h"

#include <xxhash.h>

namespace flowtrain {

void RowHashes::hash(const Slab& slab, std::span<const RowWork> rows) {
  const SlabLayout& layout = slab.layout();
  const std::size_t fields = layout.fields().size();
  const auto first = static_cast<std::size_t>(rows.data() - slab.rows().data());
  for (std::size_t row = first; row < first + rows.size(); ++row)
    for (std::size_t field = 0; field < fields; ++field)
      values_[row * fields + field] =
          XXH3_64bits(slab.host() + layout.offset(field) + row * layout.row_bytes(field), layout.row_bytes(field));
}

}  // namespace flowtrain
