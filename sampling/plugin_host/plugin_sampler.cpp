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
              FT_SHAPES == int(Encoding::shapes) && FT_BYTES == int(Encoding::bytes) &&
              FT_UTF8 == int(Encoding::text) && FT_ARRAY == int(Encoding::array) && FT_AUDIO == int(Encoding::audio));

ft_box to_abi(const Box& box) { return {box.x0, box.y0, box.x1, box.y1, box.label}; }

/// Returns the number of a part's bytes, by its shape in an outline.
std::uint64_t bytes_of(const Part& part, bool is_outline) {
  if (!is_outline || part.shape.empty()) return part.bytes.size();
  std::uint64_t bytes = part.encoding == Encoding::array ? size_of(part.dtype) : 1;
  for (const auto extent : part.shape) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

/// Records as plugins see them, until the next call. The memory is kept, so that a sample costs no allocation.
class AbiRecords {
 public:
  /// Converts the records, which may be outlines.
  std::span<const ft_record* const> operator()(std::span<const Record* const> records, bool may_be_outlines = false) {
    reserve(records);
    for (const Record* record : records) {
      const bool is_outline = may_be_outlines && record->bytes.empty() &&
                              std::ranges::all_of(record->parts, [](auto& part) { return part.bytes.empty(); });
      records_.push_back(converted(*record, is_outline));
    }
    for (const ft_record& record : records_) pointers_.push_back(&record);
    return pointers_;
  }

 private:
  /// Makes room for the records, so that none moves while they are converted.
  void reserve(std::span<const Record* const> records) {
    std::size_t boxes = 0, parts = 0, characters = 0;
    for (const Record* record : records) {
      boxes += record->boxes.size();
      parts += record->parts.size();
      for (auto& part : record->parts) characters += part.name.size() + 1;
    }
    const auto clear = [](auto& memory, std::size_t room) {
      memory.clear();
      memory.reserve(room);
    };
    clear(boxes_, boxes);
    clear(parts_, parts);
    clear(names_, characters);
    clear(records_, records.size());
    clear(pointers_, records.size());
  }

  ft_record converted(const Record& record, bool is_outline) {
    const ft_box* const boxes = boxes_.data() + boxes_.size();
    const ft_part* const parts = parts_.data() + parts_.size();
    for (auto& box : record.boxes) boxes_.push_back(to_abi(box));
    for (auto& part : record.parts) parts_.push_back(converted(part, is_outline));
    const bool has_size = record.encoding == Encoding::pixels;
    return {sizeof(ft_record),
            static_cast<std::uint32_t>(record.encoding),
            record.id,
            is_outline ? nullptr : reinterpret_cast<const std::uint8_t*>(record.bytes.data()),
            record.bytes.size(),
            has_size ? record.height : 0,
            has_size ? record.width : 0,
            record.channels,
            record.label,
            boxes,
            record.boxes.size(),
            to_abi(record.region),
            parts,
            record.parts.size()};
  }

  ft_part converted(const Part& part, bool is_outline) {
    const char* const name = names_.data() + names_.size();
    names_.insert(names_.end(), part.name.begin(), part.name.end());
    names_.push_back('\0');
    const bool is_array = part.encoding == Encoding::array;
    return {name,
            static_cast<std::uint32_t>(part.encoding),
            static_cast<std::uint32_t>(part.dtype),
            is_outline ? nullptr : reinterpret_cast<const std::uint8_t*>(part.bytes.data()),
            bytes_of(part, is_outline),
            is_array ? part.shape.data() : nullptr,
            is_array ? static_cast<std::uint32_t>(part.shape.size()) : 0};
  }

  std::vector<ft_box> boxes_;
  std::vector<ft_part> parts_;
  std::vector<char> names_;
  std::vector<ft_record> records_;
  std::vector<const ft_record*> pointers_;
};

AbiRecords& abi_records() {
  thread_local AbiRecords records;
  return records;
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
  if (raw.free_axes > raw.ndim)
    throw std::invalid_argument(concat("has ", raw.free_axes, " free axes, but ", raw.ndim, " axes in all"));
  field.free_axes = raw.free_axes;
  field.fill = raw.fill;
  const auto channels = raw.normalised_channels;
  if (channels == 0) return field;
  if (raw.free_axes > 0) throw std::invalid_argument("has a mean and free axes; only pictures of one size have a mean");
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
    if (fields.back().free_axes > 0 && !table->measure)
      throw std::invalid_argument(concat("field ", i, " has free axes, but the plugin has no measure()"));
  }
  return fields;
}

class PluginSampler : public Sampler {
 public:
  PluginSampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table, void* self)
      : keep_(std::move(keep)),
        table_(table),
        self_(self, table->destroy),
        fields_(checked_fields(table, self)),
        bounds_(bounds_of(fields_)) {}

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    if (bounds_.empty()) return;
    std::ranges::fill(extents, -1);  // an extent that the plugin does not write is refused
    const Record* const one = &record;
    const auto raw = abi_records()({&one, 1}, /*may_be_outlines=*/true);
    char message[plugin_message_bytes] = {};
    check(table_->measure(self_.get(), raw[0], extents.data(), message, sizeof message - 1), message);
    for (std::size_t axis = 0; axis < bounds_.size(); ++axis)
      if (extents[axis] < 0 || extents[axis] > bounds_[axis]) throw wrong_extent(record, axis, extents[axis]);
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    const Record* const one = &record;
    const auto raw = abi_records()({&one, 1});
    ft_random numbers{sizeof(ft_random), &random, [](void* state) { return static_cast<Stream*>(state)->next(); },
                      [](void* state) { return static_cast<Stream*>(state)->uniform(); }};
    const auto starts = starts_of(row);
    char message[plugin_message_bytes] = {};
    check(table_->sample(self_.get(), raw[0], &numbers, starts.data(), extents_for(row), message, sizeof message - 1),
          message);
  }

  bool takes_blocks() const override { return table_->sample_rows != nullptr; }

  void sample_rows(std::span<const Record* const> records, Row first) const override {
    const auto raw = abi_records()(records);
    const auto starts = starts_of(first);
    char message[plugin_message_bytes] = {};
    check(table_->sample_rows(self_.get(), raw.data(), raw.size(), starts.data(), extents_for(first), message,
                              sizeof message - 1),
          message);
  }

 private:
  void check(int failed, const char* message) const {
    if (failed) throw SampleError(concat("plugin '", table_->name, "': ", message));
  }

  /// Returns the extents of a row, which are the bounds if it states none.
  const std::int64_t* extents_for(Row row) const {
    return row.extents().empty() ? bounds_.data() : row.extents().data();
  }

  UserError wrong_extent(const Record& record, std::size_t axis, std::int64_t extent) const {
    std::size_t own = axis;
    auto field = fields_.begin();
    for (; own >= field->free_axes; ++field) own -= field->free_axes;
    return UserError(
        ExitCode::data,
        concat("plugin '", table_->name, "': measure() gives axis ", own, " of the field '", field->name,
               "' the extent ", extent, " for record ", record.id, ", but it must be 0 to ", bounds_[axis]),
        "correct the plugin's measure()");
  }

  /// The order matters: `self_` goes before the code that destroys it.
  std::shared_ptr<const void> keep_;
  const ft_sampler_plugin* table_;
  std::unique_ptr<void, void (*)(void*)> self_;
  std::vector<Field> fields_;
  std::vector<std::int64_t> bounds_;  ///< greatest extents of the free axes of all fields
};

}  // namespace

std::unique_ptr<Sampler> make_plugin_sampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table,
                                             void* self) {
  return std::make_unique<PluginSampler>(std::move(keep), table, self);
}

}  // namespace flowtrain
