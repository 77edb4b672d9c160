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

#define FT_SAMPLER_ABI 3
#define FT_MAX_FIELDS 32
#define FT_MAX_DIMS 6
#define FT_MAX_CHANNELS 4

enum ft_dtype { FT_U8 = 0, FT_I32 = 1, FT_I64 = 2, FT_F32 = 3 };
/* The meaning of the bytes of a record or a part; see Encoding in sampling/dataset.h. FT_UTF8 is a text, FT_ARRAY are
 * numbers in memory order, FT_AUDIO is a WAV, FLAC, Ogg or MP3 file. */
enum ft_encoding { FT_PIXELS = 0, FT_IMAGE = 1, FT_SHAPES = 2, FT_BYTES = 3, FT_UTF8 = 4, FT_ARRAY = 5, FT_AUDIO = 6 };
/* The type of a setting. */
enum ft_kind { FT_TEXT = 0, FT_INTEGER = 1, FT_REAL = 2, FT_BOOLEAN = 3 };

typedef struct ft_box {
  float x0, y0, x1, y1; /* pixels; x1, y1 exclusive */
  int32_t label;
} ft_box;

/* A named piece of a record: a file of a sample, or a column of a table. In ft_create it is the form of the part,
 * which all records share: `bytes` is NULL, and `shape` has -1 where it differs between records. */
typedef struct ft_part {
  const char* name;     /* "txt", "caption"; ended by 0 */
  uint32_t encoding;    /* enum ft_encoding */
  uint32_t dtype;       /* enum ft_dtype; FT_ARRAY only */
  const uint8_t* bytes; /* NULL in an outline; otherwise it may be NULL only if bytes_size is 0 */
  uint64_t bytes_size;  /* in an outline: the size that it has when it is read */
  const int64_t* shape; /* FT_ARRAY: `ndim` extents; FT_AUDIO in an outline: frames, channels, rate */
  uint32_t ndim;        /* 0: a single number */
} ft_part;

/* One stored sample; valid during one call. measure() may get an outline: a record whose `bytes`, and those of its
 * parts, are NULL, because the sizes of its parts are known without a read. */
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
  ft_box region;        /* the part of the image that is the sample; all zeros: the whole image */
  const ft_part* parts; /* pieces beside `bytes`, in the order of ft_create.parts; a record may lack some of them */
  uint64_t parts_count;
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
  /* The number of leading axes whose `shape` is a bound: each batch gives them its extents, those of its longest record
   * in most plans. A field with free axes has no mean and stddev. */
  uint32_t free_axes;
  double fill; /* the value that the plugin writes between a record's own extents and those of the batch */
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
  const ft_part* parts;             /* forms of the parts that its records have beside their own bytes */
  uint64_t parts_count;
  /* A key's value, valid during create(); NULL for a key that is not in `keys`. */
  const char* (*setting)(const struct ft_create* self, const char* name);
  void* host;
} ft_create;

/* Functions return 0 for success; otherwise they write a message (ended by 0) into `error`. They must not let C++
 * exceptions out. measure(), sample() and sample_rows() are called from many threads at once.
 *
 * `extents` are those of the free axes of all fields, in their order: 0 up to their bounds. A row has as many bytes as
 * its fields have at these extents, and what a record has more of is cut. */
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
  /* NULL if no field has a free axis. Writes the extents that a record's row needs, up to their bounds; the record may
   * be an outline. The same record has the same extents each time. Non-zero: this sample is bad. */
  int (*measure)(void* self, const ft_record* record, int64_t* extents, char* error, size_t error_size);
  /* Fills one row: rows[i] is the destination of field i, `extents` are the batch's. Non-zero: this sample is bad. */
  int (*sample)(void* self, const ft_record* record, ft_random* random, uint8_t* const* rows, const int64_t* extents,
                char* error, size_t error_size);
  /* NULL, or for samplers that draw nothing: fills `count` rows in one call, with the same bytes as sample() for each.
   * first[i] is the destination of field i of the first row; that of each further row follows the one before.
   * Non-zero: the rows are then filled one by one by sample(), which says which record is bad. */
  int (*sample_rows)(void* self, const ft_record* const* records, uint64_t count, uint8_t* const* first,
                     const int64_t* extents, char* error, size_t error_size);
} ft_sampler_plugin;

#ifdef __cplusplus
}
#endif
#endif
