#pragma once
// A row with guard bytes around each field, which shows where a sampler writes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/guarded_bytes.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The memory of one row, which a thread keeps and reuses.
class GuardedRow {
 public:
  /// Makes room for a row of `fields` at these extents of their free axes, and fills all of it with `fill`.
  void prepare(const std::vector<Field>& fields, std::span<const std::int64_t> extents, std::byte fill);

  /// Returns the row; `extents` of prepare() must still be there.
  Row row() const { return Row(starts_, extents_); }
  const std::byte* field(std::size_t index) const { return starts_[index]; }
  /// Returns the first overwritten guard byte: "3 bytes after the end of field 'image'"; empty if there is none.
  std::string damage(const std::vector<Field>& fields) const;
  /// Returns the bytes of a field.
  std::size_t bytes(std::size_t index) const { return memory_[index].bytes().size(); }

 private:
  std::vector<GuardedBytes> memory_;  // one for each field
  std::vector<std::byte*> starts_;
  std::span<const std::int64_t> extents_;
};

}  // namespace flowtrain
