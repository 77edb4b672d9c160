#pragma once
// Samplers turn a record into one row of the batch, written in place.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/dataset.h"

namespace flowtrain {

class Settings;
struct Field;
struct Shown;
class Tokenizer;

template <class Part, class Input>
class Registry;

/// Shows one value, of the field as its batch has it (stored_shape), to people (sampling/shown.h).
using ShowValue = std::function<Shown(const Field& field, std::span<const std::byte> value)>;

/// One field of a single row; the batch adds a first axis. Images are (height, width, channels).
struct Field {
  std::string name;  ///< "image", "label", …
  DType dtype;
  std::vector<std::int64_t> shape;  ///< shape in one row; empty: a scalar
  /// The model sees (x / 255 - mean) / stddev of u8 images, per channel, computed on its device. Empty: x / 255.
  std::vector<double> mean = {}, stddev = {};
  std::size_t free_axes = 0;  ///< leading axes whose `shape` is a bound: each batch gives them its extent
  double fill = 0;            ///< value of the elements between a row's own extent and that of its batch
  bool sized = false;         ///< the plan of the batches chooses the extents of its free axes, not the records
  std::int64_t values = 0;    ///< number above its largest integer, whose negative ones mean nothing; 0: not known
  double per_second = 0;      ///< positions along its first axis that are a second of sound; 0: it is no sound
  std::uint32_t group = 0;    ///< group of the rows that have it: the number of their source in the batch
  /// The tokenizer of the texts whose ids the values are (sampling/tokens/tokenizer.h); null: they are none.
  std::shared_ptr<const Tokenizer> tokenizer = {};
  ShowValue show = {};  ///< shows its values; empty: as its dtype and shape allow

  /// Returns the bytes of a row; of one whose free axes are at their bounds.
  std::size_t row_bytes() const;
  /// Returns the bytes of a row whose free axes have these extents.
  std::size_t row_bytes(std::span<const std::int64_t> extents) const;
};

/// Returns the number of free axes of all fields.
std::size_t free_axes_of(std::span<const Field> fields);
/// Returns the bounds of the free axes of all fields, in their order.
std::vector<std::int64_t> bounds_of(std::span<const Field> fields);
/// Returns the extents of one field's free axes among those of all fields; its bounds if `all` is empty.
std::span<const std::int64_t> extents_of(std::span<const Field> fields, std::size_t field,
                                         std::span<const std::int64_t> all);
/// Returns the field as rows with these extents of its free axes have it: without free axes.
Field stored_shape(Field field, std::span<const std::int64_t> extents);

/// The destinations of one row's fields: field i starts at row[i], and has the bytes of fields()[i] at the extents of
/// the batch.
class Row {
 public:
  /// Takes an array or vector of pointers, for fields without free axes.
  template <class Fields>
  requires std::is_convertible_v<const Fields&, std::span<std::byte* const>> Row(const Fields& fields)
      : Row(std::span<std::byte* const>(fields), {}) {}  // NOLINT: a list of places is a row
  /// `extents` are those of the free axes of all fields, in their order; both spans must outlive it.
  Row(std::span<std::byte* const> fields, std::span<const std::int64_t> extents, std::int32_t segment = 1)
      : fields_(fields), extents_(extents), segment_(segment) {}

  std::byte* operator[](std::size_t field) const { return fields_[field]; }
  std::size_t size() const { return fields_.size(); }
  std::span<std::byte* const> fields() const { return fields_; }
  std::span<const std::int64_t> extents() const { return extents_; }
  /// Returns the row without its fields from `count` on.
  Row first(std::size_t count) const { return Row(fields_.first(count), extents_, segment_); }
  /// Returns the number, from 1, of the record within a packed row (sampling/plans/packed_sampler.h).
  std::int32_t segment() const { return segment_; }

 private:
  std::span<std::byte* const> fields_;
  std::span<const std::int64_t> extents_;
  std::int32_t segment_;
};

/// Turns records into rows. Const and called from many threads at once; scratch memory is thread_local.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the fields of a row, in the order of Row.
  virtual std::vector<Field> fields() const = 0;
  /// Writes every byte of the row. All randomness comes from `random`. Throws SampleError for a damaged record.
  virtual void sample(const Record& record, Stream& random, Row row) const = 0;

  /// Writes the extents that the free axes of a record's row need, in the order of Row::extents(). The record may be an
  /// outline (Dataset::outline). Throws SampleError for a damaged record.
  virtual void measure(const Record&, std::span<std::int64_t>) const {}

  /// Returns whether sample_rows may be called: for samplers that draw nothing, if calls cost more than the work.
  virtual bool takes_blocks() const { return false; }
  /// Makes several rows at once, with the same bytes as sample() for each. Field i of the first row starts at first[i],
  /// that of each further row row_bytes() after the one before. If it throws, rows are made one by one.
  virtual void sample_rows(std::span<const Record* const>, Row) const {}
};

struct SamplerInput {
  const Dataset& dataset;
  bool training = true;       ///< false for validation: no augmentation, no random draws
  bool needs_targets = true;  ///< false: data without targets are accepted
  /// The tables [[field]], for the sampler `fields`.
  std::span<const Settings> fields = {};
};

/// Returns all samplers by name: boxes, classify, copy, cornernet, cornernet_saccade. SamplerPlugin
/// (sampling/plugin_host/plugin.h) provides `sampler.plugin`.
Registry<Sampler, SamplerInput>& samplers();

}  // namespace flowtrain
