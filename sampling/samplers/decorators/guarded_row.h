#pragma once
// A row with guard bytes around each field, which shows where a sampler writes.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/guarded_bytes.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The memory of one row, which a thread keeps and reuses.
class GuardedRow {
 public:
  /// Makes room for a row of `fields`, and fills all of it with `fill`.
  void prepare(const std::vector<Field>& fields, std::byte fill);

  Row row() const { return {starts_.data(), starts_.size()}; }
  const std::byte* field(std::size_t index) const { return starts_[index]; }
  /// Returns the first overwritten guard byte: "3 bytes after the end of field 'image'"; empty if there is none.
  std::string damage(const std::vector<Field>& fields) const;

 private:
  std::vector<GuardedBytes> memory_;  // one for each field
  std::vector<std::byte*> starts_;
};

}  // namespace flowtrain
