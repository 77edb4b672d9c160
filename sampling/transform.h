#pragma once
// Transforms make the fields of rows from the parts of records.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// An extent that an outline does not tell: the record is read, and measured again.
inline constexpr std::int64_t unknown_extent = -1;

/// Makes one field, or some that belong together. Const and called from many threads at once; scratch memory is
/// thread_local.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Returns the fields; the first one's name is the one that was asked for. A row states the lengths of the first
  /// one's free axes; further fields may have the same free axes, with the same bounds and the same extents.
  virtual std::vector<Field> fields() const = 0;
  /// Writes the extents that the fields' free axes need for a record, up to their bounds; reads no more than an outline
  /// has (Dataset::outline), or writes unknown_extent for one. Throws SampleError for a damaged record.
  virtual void measure(const Record&, std::span<std::int64_t>) const {}
  /// Writes the values of a record and fills what is left up to the extents of the batch; a value that is longer is
  /// cut. All transforms of a row begin with the same random numbers, so that two that draw alike, as for an image and
  /// its mask, draw the same. Throws SampleError for a damaged record.
  virtual void make(const Record& record, Stream random, Row to) const = 0;
};

struct TransformInput {
  const Dataset& dataset;
  bool training = true;   ///< false for validation: no augmentation, no random draws
  std::string name = {};  ///< name of the field
  const PartForm& from;   ///< part that it is made from
};

/// Returns all transforms by name: array, bytes, image, label, labels, lm, logmel, masked_lm, mfcc, number,
/// pair, tags, tokens, wave.
/// Settings for a factory hold `name`, `from` and the entry's own keys. Factories throw UserError(usage) at the key at
/// fault.
Registry<Transform, TransformInput>& transforms();

/// Returns the field of the extents of another one's free axes: i64, a scalar for one axis.
Field length_field_of(const Field& of);

/// Returns the part that a field is made from. Throws SampleError if the record lacks it.
const Part& part_of(const Record& record, const PartForm& form);

/// Returns the settings' error for a part of another encoding than the transform takes.
UserError wrong_part(const Settings& settings, const PartForm& from, const std::string& expected,
                     const std::string& hint = {});

}  // namespace flowtrain
