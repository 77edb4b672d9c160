#include "sampling/plugin_host/plugin_sampler.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

static_assert(FT_U8 == int(DType::u8) && FT_I32 == int(DType::i32) && FT_I64 == int(DType::i64) &&
              FT_F32 == int(DType::f32));
static_assert(FT_PIXELS == int(Encoding::pixels) && FT_IMAGE == int(Encoding::image) &&
              FT_SHAPES == int(Encoding::shapes) && FT_BYTES == int(Encoding::bytes));

ft_box to_abi(const Box& box) { return {box.x0, box.y0, box.x1, box.y1, box.label}; }

/// Converts a record; its boxes are written to `boxes`, which has room for them.
ft_record to_abi(const Record& record, ft_box* boxes) {
  std::transform(record.boxes.begin(), record.boxes.end(), boxes, [](const Box& box) { return to_abi(box); });
  const bool has_size = record.encoding == Encoding::pixels;
  return {sizeof(ft_record),
          static_cast<std::uint32_t>(record.encoding),
          record.id,
          reinterpret_cast<const std::uint8_t*>(record.bytes.data()),
          record.bytes.size(),
          has_size ? record.height : 0,
          has_size ? record.width : 0,
          record.channels,
          record.label,
          boxes,
          record.boxes.size(),
          to_abi(record.region)};
}

/// Returns the destinations of a row's fields.
std::array<std::uint8_t*, FT_MAX_FIELDS> starts_of(Row row) {
  std::array<std::uint8_t*, FT_MAX_FIELDS> starts;
  std::ranges::transform(row.fields(), starts.begin(),
                         [](std::byte* start) { return reinterpret_cast<std::uint8_t*>(start); });
  return starts;
}

/// Converts an ft_field; throws std::invalid_argument that says what is wrong.
Field checked_field(const ft_field& raw) {
  const std::size_t length = strnlen(raw.name, sizeof raw.name);
  if (length == 0 || length == sizeof raw.name) throw std::invalid_argument("has no name");
  Field field{std::string(raw.name, length), DType::u8, {}};
  if (raw.dtype > FT_F32) throw std::invalid_argument("has the unknown dtype " + std::to_string(raw.dtype));
  field.dtype = static_cast<DType>(raw.dtype);
  if (raw.ndim > FT_MAX_DIMS) throw std::invalid_argument(concat("has ", raw.ndim, " axes, at most ", FT_MAX_DIMS));
  constexpr std::int64_t max_elements = std::int64_t{1} << 40;
  std::int64_t elements = 1;
  for (std::uint32_t axis = 0; axis < raw.ndim; ++axis) {
    const auto extent = raw.shape[axis];
    if (extent <= 0) throw std::invalid_argument("has an axis of size " + std::to_string(extent));
    if (extent > max_elements / elements) throw std::invalid_argument("is larger than 2^40 elements");
    elements *= extent;
    field.shape.push_back(extent);
  }
  const auto channels = raw.normalised_channels;
  if (channels == 0) return field;
  if (channels > FT_MAX_CHANNELS || field.dtype != DType::u8 || raw.ndim != 3 || field.shape[2] != channels)
    throw std::invalid_argument(
        concat("has a mean for ", channels, " channels, but is not a u8 image (height, width, channels) with as many"));
  if (std::any_of(raw.stddev, raw.stddev + channels, [](float value) { return !(value > 0); }))
    throw std::invalid_argument("has a stddev that is not positive");
  field.mean.assign(raw.mean, raw.mean + channels);
  field.stddev.assign(raw.stddev, raw.stddev + channels);
  return field;
}

/// Returns the fields that the plugin states; throws std::invalid_argument that says what is wrong.
std::vector<Field> checked_fields(const ft_sampler_plugin* table, void* self) {
  std::vector<ft_field> raw(FT_MAX_FIELDS);
  const auto count = table->fields(self, raw.data(), FT_MAX_FIELDS);
  if (count == 0 || count > FT_MAX_FIELDS)
    throw std::invalid_argument(concat("states ", count, " fields, expected 1 to ", FT_MAX_FIELDS));
  std::vector<Field> fields;
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    try {
      fields.push_back(checked_field(raw[i]));
    } catch (const std::invalid_argument& wrong) {
      throw std::invalid_argument("field " + std::to_string(i) + " " + wrong.what());
    }
    if (!names.insert(fields.back().name).second)
      throw std::invalid_argument("two fields are called '" + fields.back().name + "'");
  }
  return fields;
}

class PluginSampler : public Sampler {
 public:
  PluginSampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table, void* self)
      : keep_(std::move(keep)), table_(table), self_(self, table->destroy), fields_(checked_fields(table, self)) {}

  std::vector<Field> fields() const override { return fields_; }
  // The memory is kept for the thread, so that a sample costs no allocation.
  void sample(const Record& record, Stream& random, Row row) const override {
    thread_local std::vector<ft_box> boxes;
    boxes.resize(record.boxes.size());
    const ft_record raw = to_abi(record, boxes.data());
    ft_random numbers{sizeof(ft_random), &random, [](void* state) { return static_cast<Stream*>(state)->next(); },
                      [](void* state) { return static_cast<Stream*>(state)->uniform(); }};
    const auto starts = starts_of(row);
    char message[plugin_message_bytes] = {};
    check(table_->sample(self_.get(), &raw, &numbers, starts.data(), message, sizeof message - 1), message);
  }

  bool takes_blocks() const override { return table_->sample_rows != nullptr; }

  void sample_rows(std::span<const Record* const> records, Row first) const override {
    thread_local std::vector<ft_box> boxes;
    thread_local std::vector<ft_record> raw;
    thread_local std::vector<const ft_record*> pointers;
    std::size_t count = 0;
    for (const Record* record : records) count += record->boxes.size();
    boxes.resize(count);
    raw.clear();
    pointers.clear();
    ft_box* next = boxes.data();
    for (const Record* record : records) {
      raw.push_back(to_abi(*record, next));
      next += record->boxes.size();
    }
    for (const ft_record& record : raw) pointers.push_back(&record);
    const auto starts = starts_of(first);
    char message[plugin_message_bytes] = {};
    check(
        table_->sample_rows(self_.get(), pointers.data(), pointers.size(), starts.data(), message, sizeof message - 1),
        message);
  }

 private:
  void check(int failed, const char* message) const {
    if (failed) throw SampleError(concat("plugin '", table_->name, "': ", message));
  }

  /// The order matters: `self_` goes before the code that destroys it.
  std::shared_ptr<const void> keep_;
  const ft_sampler_plugin* table_;
  std::unique_ptr<void, void (*)(void*)> self_;
  std::vector<Field> fields_;
};

}  // namespace

std::unique_ptr<Sampler> make_plugin_sampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table,
                                             void* self) {
  return std::make_unique<PluginSampler>(std::move(keep), table, self);
}

}  // namespace flowtrain
