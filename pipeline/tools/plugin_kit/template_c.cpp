#include "pipeline/tools/plugin_kit/templates.h"

namespace flowtrain::plugin_kit {

const char* const template_c =
    R"file(/* @NAME@: a sampler for flowtrain. It draws where the boxes of a picture are: 255 inside a box,
   0 outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/plugin_abi.h"

/* The sampler of a run. create() sets it, and nothing changes it afterwards: threads share it. */
typedef struct sampler {
  int64_t size;   /* height and width of the mask */
  double picture; /* height and width of the stored pictures, in pixels */
} sampler;

/* The keys of [sampler]. flowtrain checks that values are of their kind. */
static const ft_key keys[] = {
    {"size", FT_INTEGER, "16", "height and width of the mask, 1 to 4096"},
    {"picture", FT_REAL, "32.0", "height and width of the stored pictures, in pixels"},
};

static int fail(char* error, size_t error_size, const char* message) {
  snprintf(error, error_size, "%s", message);
  return 1;
}

static int create(const ft_create* input, void** self, char* error, size_t error_size) {
  if (input->struct_size < sizeof *input)
    return fail(error, error_size, "this flowtrain is older than the header that the plugin was built with");
  const int64_t size = strtoll(input->setting(input, "size"), NULL, 10);
  const double picture = strtod(input->setting(input, "picture"), NULL);
  if (size < 1 || size > 4096) return fail(error, error_size, "size must be 1 to 4096");
  if (!(picture > 0)) return fail(error, error_size, "picture must be above 0");
  sampler* made = malloc(sizeof *made);
  if (!made) return fail(error, error_size, "out of memory");
  made->size = size;
  made->picture = picture;
  *self = made;
  return 0;
}

static void destroy(void* self) { free(self); }

/* The fields of a row: image u8 (size, size, 1), and label i64. */
static uint32_t fields(void* self, ft_field* out, uint32_t capacity) {
  const sampler* made = self;
  const ft_field image = {.name = "image", .dtype = FT_U8, .ndim = 3, .shape = {made->size, made->size, 1}};
  const ft_field label = {.name = "label", .dtype = FT_I64, .ndim = 0};
  if (capacity >= 2) {
    out[0] = image;
    out[1] = label;
  }
  return 2;
}

static int is_inside(const ft_record* record, double x, double y) {
  for (uint64_t i = 0; i < record->boxes_count; ++i) {
    const ft_box* box = &record->boxes[i];
    if (x >= box->x0 && x < box->x1 && y >= box->y0 && y < box->y1) return 1;
  }
  return 0;
}

static void fill(const sampler* made, const ft_record* record, uint8_t* image, uint8_t* label) {
  const double cell = made->picture / (double)made->size;
  for (int64_t y = 0; y < made->size; ++y)
    for (int64_t x = 0; x < made->size; ++x)
      *image++ = is_inside(record, ((double)x + 0.5) * cell, ((double)y + 0.5) * cell) ? 255 : 0;
  memcpy(label, &record->label, sizeof record->label);
}

/* Makes one row. A record that cannot be used would be reported by `return fail(error, error_size, "the reason")`. */
static int sample(void* self, const ft_record* record, ft_random* random, uint8_t* const* rows, const int64_t* extents,
                  char* error, size_t error_size) {
  (void)random;  /* nothing is drawn: so rows may be made in blocks, too */
  (void)extents; /* no axis is free */
  (void)error;
  (void)error_size;
  fill(self, record, rows[0], rows[1]);
  return 0;
}

/* Several rows in one call, the same as those of sample(). */
static int sample_rows(void* self, const ft_record* const* records, uint64_t count, uint8_t* const* first,
                       const int64_t* extents, char* error, size_t error_size) {
  (void)extents;
  (void)error;
  (void)error_size;
  const sampler* made = self;
  const uint64_t image_bytes = (uint64_t)(made->size * made->size);
  for (uint64_t i = 0; i < count; ++i)
    fill(made, records[i], first[0] + i * image_bytes, first[1] + i * sizeof(int64_t));
  return 0;
}

const ft_sampler_plugin* flowtrain_sampler_plugin(void);

const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static const ft_sampler_plugin plugin = {
      .abi = FT_SAMPLER_ABI,
      .struct_size = sizeof plugin,
      .name = "@NAME@",
      .help = "a mask of where the boxes of a picture are",
      .keys = keys,
      .keys_count = sizeof keys / sizeof *keys,
      .create = create,
      .destroy = destroy,
      .fields = fields,
      .sample = sample,
      .sample_rows = sample_rows,
  };
  return &plugin;
}
)file";

}  // namespace flowtrain::plugin_kit
