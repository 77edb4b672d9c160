#include "pipeline/engine/graph/row_hashes.h"

#include <xxhash.h>

namespace flowtrain {

void RowHashes::hash(const Slab& slab, std::span<const RowWork> rows) {
  const std::size_t fields = slab.layout().fields().size();
  const auto first = static_cast<std::size_t>(rows.data() - slab.rows().data());
  auto* value = values_.data() + first * fields;
  for (auto& row : rows)
    for (std::size_t field = 0; field < fields; ++field) {
      const auto bytes = slab.bytes_of(row, field);
      *value++ = XXH3_64bits(bytes.data(), bytes.size());
    }
}

}  // namespace flowtrain
