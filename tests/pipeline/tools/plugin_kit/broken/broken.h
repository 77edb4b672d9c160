#pragma once
// The common part of the broken plugins: a correct sampler of the C interface in all but sample(). Its row is the field
// `value`, u8 (8), which good() fills with the record's first bytes. It takes the trial data `shapes`.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sampling/plugin_abi.h"

namespace broken {

inline constexpr std::uint64_t value_bytes = 8;

inline int fail(char* error, size_t error_size, const char* message) {
  std::strncpy(error, message, error_size);
  return 1;
}

inline int create(const ft_create* input, void** self, char* error, size_t error_size) {
  if (input->encoding != FT_SHAPES) return fail(error, error_size, "it takes shapes alone");
  static int nothing;
  *self = &nothing;
  return 0;
}

inline void destroy(void*) {}

inline uint32_t fields(void*, ft_field* out, uint32_t) {
  out[0] = {"value", FT_U8, 1, {value_bytes}, 0, {}, {}, 0, 0};
  return 1;
}

/// Fills the field as it should be.
inline void good(const ft_record* record, uint8_t* value) {
  std::memset(value, 0, value_bytes);
  if (record->bytes_size > 0) std::memcpy(value, record->bytes, std::min(record->bytes_size, value_bytes));
}

using Sample = int(void*, const ft_record*, ft_random*, uint8_t* const*, const int64_t*, char*, size_t);

inline ft_sampler_plugin table(Sample* sample) {
  return {FT_SAMPLER_ABI, sizeof(ft_sampler_plugin),
          "broken",       "breaks a rule",
          nullptr,        0,
          create,         destroy,
          fields,         nullptr,
          sample,         nullptr};
}

}  // namespace broken

/// Exports the sampler with this sample().
#define BROKEN_PLUGIN(sample)                                          \
  extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) { \
    static const ft_sampler_plugin made = broken::table(sample);       \
    return &made;                                                      \
  }
