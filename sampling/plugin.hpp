#pragma once
// The C++ interface for authors of sampler plugins: one class and one macro. It needs no library; see
// sampling/plugins/README.md. All of it is inline and holds no static data, so that two plugins in one process share
// nothing.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "sampling/plugin_abi.h"

namespace flowtrain::plugin {

/// Thrown for any mistake in the settings or a record; the message reaches the user.
using Error = std::runtime_error;

/// The typed settings and the facts about the data set from which a sampler is made.
class Create {
 public:
  explicit Create(const ft_create& raw) : raw_(raw) {}

  std::string text(const char* key) const {
    const char* value = raw_.setting(&raw_, key);
    if (!value) throw Error(std::string("the key '") + key + "' is not declared");
    return value;
  }
  /// Returns an integer; the host has checked that the value is of the declared kind.
  long long integer(const char* key) const { return std::stoll(text(key)); }
  double real(const char* key) const { return std::stod(text(key)); }
  bool boolean(const char* key) const { return text(key) == "true"; }

  bool training() const { return raw_.training != 0; }
  /// Returns the classes, records, and the first record's encoding, height, width and channels.
  const ft_create& raw() const { return raw_; }

 private:
  const ft_create& raw_;
};

/// The sample's own random numbers, which are equal for any number of workers and on resume.
class Random {
 public:
  explicit Random(ft_random& raw) : raw_(raw) {}
  std::uint32_t next() { return raw_.next(raw_.state); }
  double uniform() { return raw_.uniform(raw_.state); }  ///< [0, 1)

 private:
  ft_random& raw_;
};

/// Returns the part of a record with this name. Throws Error if the record lacks it.
inline const ft_part& part(const ft_record& record, const std::string& name) {
  const ft_part* const end = record.parts + record.parts_count;
  const ft_part* const found = std::find_if(record.parts, end, [&](const ft_part& each) { return each.name == name; });
  if (found == end) throw Error("it has no part '" + name + "'");
  return *found;
}

/// Makes a field of a row; `mean` and `stddev` may be given for u8 images (height, width, channels).
inline ft_field field(const char* name, ft_dtype dtype, std::initializer_list<std::int64_t> shape,
                      std::initializer_list<float> mean = {}, std::initializer_list<float> stddev = {}) {
  ft_field made{};
  if (std::strlen(name) >= sizeof made.name) throw Error(std::string("the field name '") + name + "' is too long");
  if (shape.size() > FT_MAX_DIMS || mean.size() > FT_MAX_CHANNELS || mean.size() != stddev.size())
    throw Error(std::string("the field '") + name + "' has too many axes or channels");
  std::strcpy(made.name, name);
  made.dtype = dtype;
  made.ndim = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), made.shape);
  made.normalised_channels = static_cast<std::uint32_t>(mean.size());
  std::copy(mean.begin(), mean.end(), made.mean);
  std::copy(stddev.begin(), stddev.end(), made.stddev);
  return made;
}

/// Makes a field whose first `free_axes` axes have in each batch the batch's extent, at most that of `shape`. The
/// sampler writes `fill` between a record's own extents and those of the batch.
inline ft_field free_field(const char* name, ft_dtype dtype, std::initializer_list<std::int64_t> shape,
                           std::uint32_t free_axes = 1, double fill = 0) {
  ft_field made = field(name, dtype, shape);
  made.free_axes = free_axes;
  made.fill = fill;
  return made;
}

/// The destinations of one row: row[i] is that of field i.
class Row : public std::span<std::uint8_t* const> {
 public:
  Row(std::span<std::uint8_t* const> fields, std::span<const std::int64_t> extents) : span(fields), extents_(extents) {}
  /// Returns the extents of the free axes of all fields, in their order.
  std::span<const std::int64_t> extents() const { return extents_; }

 private:
  std::span<const std::int64_t> extents_;
};

/// The base class of a plugin, which also needs a constructor that takes a const Create&.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the fields of a row; called once.
  virtual std::vector<ft_field> fields() const = 0;
  /// Writes every byte of every field: rows[i] is the destination of field i. Called from many threads at once. Throw
  /// Error for an unexpected record: the run counts it and continues.
  virtual void sample(const ft_record& record, Random& random, std::span<std::uint8_t* const> rows) const = 0;
};

/// A sampler that draws nothing and fills several rows in one call, because calls would cost more than the work.
class BlockSampler : public Sampler {
 public:
  /// Writes the same bytes as sample() for each record. first[i] is the destination of field i of the first row; that
  /// of each further row follows right after the one before. If it throws, sample() is called for each record.
  virtual void sample_rows(std::span<const ft_record* const> records, std::span<std::uint8_t* const> first) const = 0;
};

/// The base class of a plugin whose fields have free axes, in place of Sampler.
class ShapedSampler {
 public:
  virtual ~ShapedSampler() = default;
  /// Returns the fields of a row; called once.
  virtual std::vector<ft_field> fields() const = 0;
  /// Writes the extents that the free axes of a record's row need, up to their bounds, in the order of Row::extents().
  /// The record may be an outline: a part has its bytes_size and its shape, but no bytes. Called as sample() is.
  virtual void measure(const ft_record& record, std::span<std::int64_t> extents) const = 0;
  /// Writes every byte of every field at the extents of `row`; a record that needs more is cut. Called from many
  /// threads at once. Throw Error for an unexpected record: the run counts it and continues.
  virtual void sample(const ft_record& record, Random& random, const Row& row) const = 0;
};

/// A ShapedSampler that draws nothing and fills several rows in one call.
class ShapedBlockSampler : public ShapedSampler {
 public:
  /// Writes the rows of `records`, all at the extents of `first`, as BlockSampler::sample_rows() does.
  virtual void sample_rows(std::span<const ft_record* const> records, const Row& first) const = 0;
};

namespace detail {

template <class Made>
inline constexpr bool is_shaped = std::is_base_of_v<ShapedSampler, Made>;
template <class Made>
using Base = std::conditional_t<is_shaped<Made>, ShapedSampler, Sampler>;
template <class Made>
using BlockBase = std::conditional_t<is_shaped<Made>, ShapedBlockSampler, BlockSampler>;

/// Runs `body`, from which no exception may reach C. Returns 0, or 1 with the message in `error`.
template <class Body>
int guarded(char* error, std::size_t error_size, Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& caught) {
    std::snprintf(error, error_size, "%s", caught.what());
  } catch (...) {
    std::snprintf(error, error_size, "an exception of unknown type");
  }
  return 1;
}

/// The object behind the table's `self`.
template <class Made>
struct Instance {
  Made sampler;
  std::vector<ft_field> fields;
  std::size_t free_axes = 0;

  explicit Instance(const ft_create& input) : sampler(Create(input)), fields(sampler.fields()) {
    for (const auto& field : fields) free_axes += field.free_axes;
  }
  Row row(std::uint8_t* const* starts, const std::int64_t* extents) const {
    return {{starts, fields.size()}, {extents, free_axes}};
  }
};

template <class Made>
int create(const ft_create* input, void** self, char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    if (input->struct_size < sizeof *input)
      throw Error("this flowtrain is older than the header that the plugin was built with");
    *self = new Instance<Made>(*input);
  });
}

template <class Made>
void destroy(void* self) {
  delete static_cast<Instance<Made>*>(self);
}

template <class Made>
std::uint32_t fields(void* self, ft_field* out, std::uint32_t capacity) {
  const auto& all = static_cast<Instance<Made>*>(self)->fields;
  std::copy_n(all.begin(), std::min<std::size_t>(all.size(), capacity), out);
  return static_cast<std::uint32_t>(all.size());
}

template <class Made>
int measure(void* self, const ft_record* record, std::int64_t* extents, char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    const auto* instance = static_cast<const Instance<Made>*>(self);
    const Base<Made>& sampler = instance->sampler;
    sampler.measure(*record, {extents, instance->free_axes});
  });
}

template <class Made>
int sample(void* self, const ft_record* record, ft_random* random, std::uint8_t* const* rows,
           const std::int64_t* extents, char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    const auto* instance = static_cast<const Instance<Made>*>(self);
    Random numbers(*random);
    const Base<Made>& sampler = instance->sampler;
    sampler.sample(*record, numbers, instance->row(rows, extents));
  });
}

template <class Made>
int sample_rows(void* self, const ft_record* const* records, std::uint64_t count, std::uint8_t* const* first,
                const std::int64_t* extents, char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    const auto* instance = static_cast<const Instance<Made>*>(self);
    const BlockBase<Made>& sampler = instance->sampler;
    sampler.sample_rows({records, static_cast<std::size_t>(count)}, instance->row(first, extents));
  });
}

template <class Made>
constexpr decltype(ft_sampler_plugin::measure) measure_function() {
  if constexpr (is_shaped<Made>) return &measure<Made>;
  return nullptr;
}

template <class Made>
constexpr decltype(ft_sampler_plugin::sample_rows) rows_function() {
  if constexpr (std::is_base_of_v<BlockBase<Made>, Made>) return &sample_rows<Made>;
  return nullptr;
}

}  // namespace detail
}  // namespace flowtrain::plugin

/// Exports `Class` as a sampler plugin, with its name, one line of help, and its keys, if it has any:
///     FLOWTRAIN_SAMPLER_PLUGIN(Edges, "edges", "one line of help", {"gain", FT_REAL, "1.0", "one line of help"})
#define FLOWTRAIN_SAMPLER_PLUGIN(Class, plugin_name, plugin_help, ...)                         \
  extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {                         \
    static const std::vector<ft_key> keys{__VA_ARGS__};                                        \
    static const ft_sampler_plugin table{FT_SAMPLER_ABI,                                       \
                                         sizeof(ft_sampler_plugin),                            \
                                         plugin_name,                                          \
                                         plugin_help,                                          \
                                         keys.data(),                                          \
                                         static_cast<std::uint32_t>(keys.size()),              \
                                         flowtrain::plugin::detail::create<Class>,             \
                                         flowtrain::plugin::detail::destroy<Class>,            \
                                         flowtrain::plugin::detail::fields<Class>,             \
                                         flowtrain::plugin::detail::measure_function<Class>(), \
                                         flowtrain::plugin::detail::sample<Class>,             \
                                         flowtrain::plugin::detail::rows_function<Class>()};   \
    return &table;                                                                             \
  }
