#pragma once
// A row of its own with guard bytes around each field: shows what a sampler writes, and where it should not.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/guarded_bytes.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Memory for one row. Kept by a thread and used again.
class GuardedRow {
 public:
  /// Makes room for a row of `fields`, and fills all of it with `fill`.
  void prepare(const std::vector<Field>& fields, std::byte fill);

  Row row() const { return {starts_.data(), starts_.size()}; }
  const std::byte* field(std::size_t index) const { return starts_[index]; }
  /// The first guard byte that was written over: "3 bytes after the end of field 'image'"; empty where none was.
  std::string damage(const std::vector<Field>& fields) const;

 private:
  std::vector<GuardedBytes> memory_;  // a field each
  std::vector<std::byte*> starts_;
};

}  // namespace flowtrain
