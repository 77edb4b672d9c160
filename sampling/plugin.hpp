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

namespace detail {

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
struct Instance {
  const Sampler* sampler;
  std::vector<ft_field> fields;
};

template <class Made>
int create(const ft_create* input, void** self, char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    if (input->struct_size < sizeof *input)
      throw Error("this flowtrain is older than the header that the plugin was built with");
    const auto sampler = new Made(Create(*input));
    try {
      *self = new Instance{sampler, sampler->fields()};
    } catch (...) {
      delete sampler;
      throw;
    }
  });
}

inline void destroy(void* self) {
  const auto* instance = static_cast<Instance*>(self);
  delete instance->sampler;
  delete instance;
}

inline std::uint32_t fields(void* self, ft_field* out, std::uint32_t capacity) {
  const auto& all = static_cast<Instance*>(self)->fields;
  std::copy_n(all.begin(), std::min<std::size_t>(all.size(), capacity), out);
  return static_cast<std::uint32_t>(all.size());
}

inline int sample(void* self, const ft_record* record, ft_random* random, std::uint8_t* const* rows, char* error,
                  std::size_t error_size) {
  return guarded(error, error_size, [&] {
    const auto* instance = static_cast<Instance*>(self);
    Random numbers(*random);
    instance->sampler->sample(*record, numbers, {rows, instance->fields.size()});
  });
}

inline int sample_rows(void* self, const ft_record* const* records, std::uint64_t count, std::uint8_t* const* first,
                       char* error, std::size_t error_size) {
  return guarded(error, error_size, [&] {
    const auto* instance = static_cast<Instance*>(self);
    static_cast<const BlockSampler*>(instance->sampler)
        ->sample_rows({records, static_cast<std::size_t>(count)}, {first, instance->fields.size()});
  });
}

template <class Made>
constexpr auto rows_function() -> decltype(&sample_rows) {
  return std::is_base_of_v<BlockSampler, Made> ? &sample_rows : nullptr;
}

}  // namespace detail
}  // namespace flowtrain::plugin

/// Exports `Class` as a sampler plugin, with its name, one line of help, and its keys, if it has any:
///     FLOWTRAIN_SAMPLER_PLUGIN(Edges, "edges", "one line of help", {"gain", FT_REAL, "1.0", "one line of help"})
#define FLOWTRAIN_SAMPLER_PLUGIN(Class, plugin_name, plugin_help, ...)                       \
  extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {                       \
    static const std::vector<ft_key> keys{__VA_ARGS__};                                      \
    static const ft_sampler_plugin table{FT_SAMPLER_ABI,                                     \
                                         sizeof(ft_sampler_plugin),                          \
                                         plugin_name,                                        \
                                         plugin_help,                                        \
                                         keys.data(),                                        \
                                         static_cast<std::uint32_t>(keys.size()),            \
                                         flowtrain::plugin::detail::create<Class>,           \
                                         flowtrain::plugin::detail::destroy,                 \
                                         flowtrain::plugin::detail::fields,                  \
                                         flowtrain::plugin::detail::sample,                  \
                                         flowtrain::plugin::detail::rows_function<Class>()}; \
    return &table;                                                                           \
  }
