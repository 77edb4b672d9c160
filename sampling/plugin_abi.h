/* The binary interface between flowtrain and sampler plugins: plain C, no library needed. C++ authors include
 * "sampling/plugin.hpp" instead, which makes a plugin one class and one macro.
 *
 * A plugin is a shared object that exports one function:
 *     const ft_sampler_plugin *flowtrain_sampler_plugin(void);
 * Structs of the host (ft_create, ft_record, ft_random) may grow at their end within one FT_SAMPLER_ABI: a plugin
 * checks that struct_size is at least the size it knows. Everything else is fixed: the host refuses a plugin of another
 * abi, or whose ft_sampler_plugin has another struct_size. */
#ifndef FLOWTRAIN_PLUGIN_ABI_H
#define FLOWTRAIN_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FT_SAMPLER_ABI 2
#define FT_MAX_FIELDS 32
#define FT_MAX_DIMS 6
#define FT_MAX_CHANNELS 4

enum ft_dtype { FT_U8 = 0, FT_I32 = 1, FT_I64 = 2, FT_F32 = 3 };
/* The meaning of ft_record.bytes; see Encoding in sampling/dataset.h. */
enum ft_encoding { FT_PIXELS = 0, FT_IMAGE = 1, FT_SHAPES = 2, FT_BYTES = 3 };
/* The type of a setting. */
enum ft_kind { FT_TEXT = 0, FT_INTEGER = 1, FT_REAL = 2, FT_BOOLEAN = 3 };

typedef struct ft_box {
  float x0, y0, x1, y1; /* pixels; x1, y1 exclusive */
  int32_t label;
} ft_box;

/* One stored sample; valid during one call of sample(). */
typedef struct ft_record {
  uint32_t struct_size;
  uint32_t encoding; /* enum ft_encoding */
  uint64_t id;
  const uint8_t* bytes;
  uint64_t bytes_size;
  uint32_t height, width, channels; /* FT_PIXELS only */
  int64_t label;                    /* -1: none */
  const ft_box* boxes;
  uint64_t boxes_count;
  ft_box region; /* the part of the image that is the sample; all zeros: the whole image */
} ft_record;

/* The sample's own random numbers: the same for every worker count and on resume. */
typedef struct ft_random {
  uint32_t struct_size;
  void* state;
  uint32_t (*next)(void* state);  /* 32 random bits */
  double (*uniform)(void* state); /* [0, 1) */
} ft_random;

/* One field of a row. Images are u8 (height, width, channels); the model sees (x / 255 - mean) / stddev of them, per
 * channel, computed on its device. */
typedef struct ft_field {
  char name[64];
  uint32_t dtype; /* enum ft_dtype */
  uint32_t ndim;  /* 0: a scalar */
  int64_t shape[FT_MAX_DIMS];
  uint32_t normalised_channels; /* number of values of mean and stddev; 0: x / 255 */
  float mean[FT_MAX_CHANNELS], stddev[FT_MAX_CHANNELS];
} ft_field;

/* One key of the [sampler] table that the plugin knows. Values, the fallback too, are text: "3", "0.5", "true", "a". */
typedef struct ft_key {
  const char* name;
  uint32_t kind; /* enum ft_kind */
  const char* fallback;
  const char* help;
} ft_key;

/* The input of create(). */
typedef struct ft_create {
  uint32_t struct_size;
  int32_t training;                 /* 0: validation: no random augmentation */
  int64_t classes;                  /* number in the data set; 0: none */
  uint64_t records;                 /* number in the data set */
  uint32_t encoding;                /* the encoding of its first record */
  uint32_t height, width, channels; /* FT_PIXELS: size of its first record; otherwise 0 */
  /* A key's value, valid during create(); NULL for a key that is not in `keys`. */
  const char* (*setting)(const struct ft_create* self, const char* name);
  void* host;
} ft_create;

/* Functions return 0 for success; otherwise they write a message (ended by 0) into `error`. They must not let C++
 * exceptions out. sample() is called from many threads at once. */
typedef struct ft_sampler_plugin {
  uint32_t abi;         /* FT_SAMPLER_ABI */
  uint32_t struct_size; /* sizeof(ft_sampler_plugin) */
  const char* name;     /* name in messages and `flowtrain plugins` */
  const char* help;     /* one line */
  const ft_key* keys;
  uint32_t keys_count;
  int (*create)(const ft_create* input, void** self, char* error, size_t error_size);
  void (*destroy)(void* self);
  /* Writes up to `capacity` fields and returns their number (larger than `capacity`: refused; 0: failed). */
  uint32_t (*fields)(void* self, ft_field* out, uint32_t capacity);
  /* Fills one row: rows[i] is the destination of field i. Non-zero: this sample is bad. */
  int (*sample)(void* self, const ft_record* record, ft_random* random, uint8_t* const* rows, char* error,
                size_t error_size);
  /* NULL, or for samplers that draw nothing: fills `count` rows in one call, with the same bytes as sample() for each.
   * first[i] is the destination of field i of the first row; that of each further row follows the one before.
   * Non-zero: the rows are then filled one by one by sample(), which says which record is bad. */
  int (*sample_rows)(void* self, const ft_record* const* records, uint64_t count, uint8_t* const* first, char* error,
                     size_t error_size);
} ft_sampler_plugin;

#ifdef __cplusplus
}
#endif
#endif
