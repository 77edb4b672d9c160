#pragma once
// Rows in guarded memory, and calls that fill them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/subject.h"
#include "sampling/guarded_bytes.h"
#include "sampling/sampler.h"

namespace flowtrain::plugin_kit {

/// Memory for `count` rows: each field has its own, with guard bytes around all rows of it.
class Rows {
 public:
  /// The free axes are at their bounds.
  explicit Rows(const std::vector<Field>& fields, std::size_t count = 1) : Rows(fields, count, bounds_of(fields)) {}
  /// `extents` are those of the free axes of all fields.
  Rows(const std::vector<Field>& fields, std::size_t count, std::vector<std::int64_t> extents);

  /// Returns where the fields of the first row begin.
  Row first() const { return {starts_, extents_}; }
  void fill(std::byte value);
  /// Throws CheckFailure, beginning with `place`, where a guard byte was written to.
  void check_guards(const std::string& place) const;
  /// Returns the first difference of row `index` from that of `other`: "field 'image', byte 17: 3, not 5"; or nothing.
  std::optional<std::string> difference(const Rows& other, std::size_t index = 0) const;
  /// Returns the hash of all bytes.
  std::uint64_t hash() const;

  /// Returns the fields as these rows have them: without free axes.
  const std::vector<Field>& fields() const { return fields_; }
  std::span<const std::byte> bytes(std::size_t field) const { return memory_[field].bytes(); }

 private:
  std::vector<std::int64_t> extents_;
  std::vector<Field> fields_;
  std::vector<GuardedBytes> memory_;
  std::vector<std::byte*> starts_;
};

/// A record at a position of the stream: position and seed decide the random numbers.
struct Item {
  const TrialRecord* trial;
  std::uint64_t position;

  /// Returns "shapes train #3 (position 7)".
  std::string name() const;
};

/// Returns each record at two positions.
std::vector<Item> items_of(const Subject& subject);

/// Makes one row. Returns the message of the SampleError if the record is refused.
std::optional<std::string> make_row(const Sampler& sampler, const Record& record, std::uint64_t position,
                                    const Rows& rows);

/// Makes a row twice, over different bytes. Throws CheckFailure, beginning with `place`, where a byte is not written.
/// Returns the message of the SampleError if the record is refused.
std::optional<std::string> make_row_twice(const Sampler& sampler, const Item& item, const std::string& place,
                                          Rows& rows, Rows& again);

/// Measures a record: `extents` are those that its row needs, none if no axis is free. Returns the message of the
/// SampleError if the record is refused. Throws CheckFailure for extents beyond the bounds.
std::optional<std::string> measure_row(const Sampler& sampler, const Record& record,
                                       std::vector<std::int64_t>& extents);

/// Returns the hash of the extents and the row that measure_row() and make_row() give, or of the message.
std::uint64_t hash_of_row(const Sampler& sampler, const Item& item, const Rows& rows);

}  // namespace flowtrain::plugin_kit
