#pragma once
// Samplers turn a record into one row of the batch, written in place.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/dataset.h"

namespace flowtrain {

template <class Part, class Input>
class Registry;

/// Element types of batch fields.
enum class DType : std::uint8_t { u8, i32, i64, f32 };
/// Returns the bytes of one element.
std::size_t size_of(DType type);
/// Returns "u8", "i32", "i64", "f32".
const char* name_of(DType type);

/// One field of a single row; the batch adds a first axis. Images are (height, width, channels).
struct Field {
  std::string name;  ///< "image", "label", …
  DType dtype;
  std::vector<std::int64_t> shape;  ///< shape in one row; empty: a scalar
  /// The model sees (x / 255 - mean) / stddev of u8 images, per channel, computed on its device. Empty: x / 255.
  std::vector<double> mean = {}, stddev = {};

  std::size_t row_bytes() const;
};

/// The destinations of one row's fields: field i starts at row[i] and has fields()[i].row_bytes() bytes.
using Row = std::span<std::byte* const>;

/// Turns records into rows. Const and called from many threads at once; scratch memory is thread_local.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the fields of a row, in the order of Row.
  virtual std::vector<Field> fields() const = 0;
  /// Writes every byte of the row. All randomness comes from `random`. Throws SampleError for a damaged record.
  virtual void sample(const Record& record, Stream& random, Row row) const = 0;

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
};

/// Returns all samplers by name: boxes, classify, copy, cornernet, cornernet_saccade. SamplerPlugin
/// (sampling/plugin_host/plugin.h) provides `sampler.plugin`.
Registry<Sampler, SamplerInput>& samplers();

}  // namespace flowtrain
