#include "sampling/shown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "sampling/audio/sound.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/field_text.h"
#include "sampling/shown_beside.h"

namespace flowtrain {
namespace {

constexpr std::int64_t least_side = 8, greatest_side = 1024;  // sides of heat maps
constexpr std::size_t most_letters = 200, most_numbers = 16;
constexpr std::uint64_t most_seconds = 60;  // the part of a recording that can be heard

template <class Number>
void read_as(std::span<const std::byte> from, std::vector<float>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    Number number;
    std::memcpy(&number, from.data() + i * sizeof number, sizeof number);
    to[i] = static_cast<float>(number);
  }
}

std::vector<float> as_floats(DType dtype, std::span<const std::byte> value) {
  std::vector<float> numbers(value.size() / size_of(dtype));
  switch (dtype) {
    case DType::u8: read_as<std::uint8_t>(value, numbers); break;
    case DType::i32: read_as<std::int32_t>(value, numbers); break;
    case DType::i64: read_as<std::int64_t>(value, numbers); break;
    case DType::f32: read_as<float>(value, numbers); break;
  }
  return numbers;
}

struct Spread {
  float least = 0, greatest = 0;

  explicit Spread(std::span<const float> values) {
    bool any = false;
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      least = any ? std::min(least, value) : value;
      greatest = any ? std::max(greatest, value) : value;
      any = true;
    }
  }
  /// Returns the place of a finite value within the range, 0 … 1.
  float place(float value) const { return greatest > least ? (value - least) / (greatest - least) : 0; }
};

/// Returns whether it is a picture, or finished pixels of one.
bool is_picture(const Field& field) {
  const auto& shape = field.shape;
  if (shape.size() != 3 || (shape[2] != 1 && shape[2] != 3)) return false;
  return field.dtype == DType::u8 || (field.dtype == DType::f32 && std::min(shape[0], shape[1]) >= least_side);
}

// The range of pictures that a sampler has normalised itself is unknown, so they are spread over all levels.
Image picture_in(const Field& field, std::span<const std::byte> value) {
  Image picture;
  picture.reshape(static_cast<int>(field.shape[0]), static_cast<int>(field.shape[1]), static_cast<int>(field.shape[2]));
  if (field.dtype == DType::u8) {
    std::memcpy(picture.pixels.data(), value.data(), picture.pixels.size());
    return picture;
  }
  auto values = as_floats(field.dtype, value);
  for (float& each : values)
    if (!std::isfinite(each)) each = 0;
  const Spread spread(values);
  std::ranges::transform(values, picture.pixels.begin(),
                         [&](float each) { return static_cast<std::uint8_t>(std::lround(255 * spread.place(each))); });
  return picture;
}

std::string_view letters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_text(std::span<const std::byte> value) {
  const auto text = letters_of(value);
  const auto is_control = [](char c) { return (c >= 0 && c < ' ' && !(c >= '\t' && c <= '\r')) || c == 0x7f; };
  return std::ranges::none_of(text, is_control) && as_utf8(text) == text;
}

/// Returns "3, 17, 5", and of many numbers the first ones, the last one, and how many there are.
std::string list_of(const Field& field, std::span<const std::byte> value) {
  const std::size_t count = value.size() / size_of(field.dtype);
  const std::size_t first = count > most_numbers ? most_numbers / 2 : count;
  std::string text;
  for (std::size_t i = 0; i < first; ++i) text += (i ? ", " : "") + element_value(field, value.data(), i);
  if (first == count) return text;
  return concat(text, ", … ", element_value(field, value.data(), count - 1), " (", count, " numbers)");
}

/// Returns the elements of a value whose free axes, the first ones, have these extents.
std::vector<std::byte> cut(const Field& field, std::size_t free_axes, std::span<const std::byte> value,
                           std::span<const std::int64_t> extents) {
  std::vector<std::byte> own;
  std::size_t inner = size_of(field.dtype);
  for (std::size_t axis = free_axes; axis < field.shape.size(); ++axis)
    inner *= static_cast<std::size_t>(field.shape[axis]);
  std::size_t count = 1;
  for (const auto extent : extents) count *= static_cast<std::size_t>(extent);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = 0, left = i, step = inner;
    for (std::size_t axis = free_axes; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(extents[axis]);
      at += left % extent * step;
      left /= extent;
      step *= static_cast<std::size_t>(field.shape[axis]);
    }
    own.insert(own.end(), value.begin() + static_cast<std::ptrdiff_t>(at),
               value.begin() + static_cast<std::ptrdiff_t>(at + inner));
  }
  return own;
}

/// Returns the index of the field that tells how long another one is; the number of fields if there is none.
std::size_t length_of(std::span<const Field> fields, const Field& field) {
  const auto found =
      field.free_axes == 0 ? fields.end() : std::ranges::find(fields, field.name + "_length", &Field::name);
  return static_cast<std::size_t>(found - fields.begin());
}

/// The value of a field without padding, where another field tells how long it is.
struct OwnValue {
  OwnValue(std::span<const Field> fields, std::span<const std::int64_t> extents,
           std::span<const std::span<const std::byte>> values, std::size_t index)
      : field(stored_shape(fields[index], extents_of(fields, index, extents))), bytes(values[index]) {
    if (const std::size_t whole = field.row_bytes(); bytes.size() < whole)
      field.shape[0] = field.shape[0] * static_cast<std::int64_t>(bytes.size()) / static_cast<std::int64_t>(whole);
    const std::size_t length = length_of(fields, fields[index]), axes = fields[index].free_axes;
    if (length == fields.size() || values[length].size() != axes * sizeof(std::int64_t)) return;
    std::vector<std::int64_t> own(axes);
    std::memcpy(own.data(), values[length].data(), values[length].size());
    for (std::size_t axis = 0; axis < axes; ++axis)
      own[axis] = std::clamp<std::int64_t>(own[axis], 0, field.shape[axis]);
    memory = cut(field, axes, bytes, own);
    bytes = memory;
    field = stored_shape(field, own);
  }
  OwnValue(const OwnValue&) = delete;

  Field field;
  std::span<const std::byte> bytes;
  std::vector<std::byte> memory = {};
};

}  // namespace

// Beyond ASCII, U+0080 … U+009F are controls, and U+200E, U+200F, U+202A … U+202E and U+2066 … U+2069 turn the
// direction of writing.
std::string shown_text(std::string_view text) {
  const std::string all = as_utf8(text.substr(0, 4 * most_letters + 4));
  std::string line;
  std::size_t letters = 0;
  for (std::size_t at = 0, next; at < all.size(); at = next) {
    for (next = at + 1; next < all.size() && (all[next] & 0xc0) == 0x80;) ++next;
    if (++letters > most_letters) return line + "…";
    const std::string_view letter = std::string_view(all).substr(at, next - at);
    const char c = letter[0];
    if (c >= '\t' && c <= '\r')
      line += ' ';
    else if ((c >= 0 && c < ' ') || c == 0x7f || (letter >= "\u0080" && letter <= "\u009f") || letter == "\u200e" ||
             letter == "\u200f" || (letter >= "\u202a" && letter <= "\u202e") ||
             (letter >= "\u2066" && letter <= "\u2069"))
      line += '?';
    else
      line += letter;
  }
  return line;
}

std::string shown_text(std::span<const std::byte> text) { return shown_text(letters_of(text)); }

Image heat_map(std::span<const float> values, std::int64_t height, std::int64_t width) {
  // The colours of viridis (van der Walt and Smith 2015) at nine places from 0 to 1.
  static constexpr std::array<std::array<float, 3>, 9> colors{{{68, 1, 84},
                                                               {71, 45, 123},
                                                               {59, 82, 139},
                                                               {44, 114, 142},
                                                               {33, 145, 140},
                                                               {40, 174, 128},
                                                               {94, 201, 98},
                                                               {173, 220, 48},
                                                               {253, 231, 37}}};
  const std::int64_t step = (std::max(height, width) + greatest_side - 1) / greatest_side;
  const Spread spread(values);
  Image picture;
  picture.reshape(static_cast<int>((height + step - 1) / step), static_cast<int>((width + step - 1) / step), 3);
  std::uint8_t* pixel = picture.pixels.data();
  for (std::int64_t y = 0; y < height; y += step)
    for (std::int64_t x = 0; x < width; x += step, pixel += 3) {
      const float value = values[static_cast<std::size_t>(y * width + x)];
      const float place = std::clamp(spread.place(value), 0.0F, 1.0F) * (colors.size() - 1);
      const auto below = static_cast<std::size_t>(std::isnan(value) ? 0 : place);
      const auto &from = colors[below], &to = colors[std::min(below + 1, colors.size() - 1)];
      for (std::size_t channel = 0; channel < 3; ++channel)
        pixel[channel] = static_cast<std::uint8_t>(
            std::isnan(value) ? 128
                              : std::lround(std::lerp(from[channel], to[channel], place - static_cast<float>(below))));
    }
  return picture;
}

ShowValue show_class(std::vector<std::string> names) {
  return [shared = std::make_shared<const std::vector<std::string>>(std::move(names))](
             const Field& field, std::span<const std::byte> value) -> Shown {
    const float label = as_floats(field.dtype, value).at(0);
    const auto index = static_cast<std::size_t>(label);
    return {shown_text(label >= 0 && index < shared->size() ? (*shared)[index] : list_of(field, value))};
  };
}

Shown show(const Field& field, std::span<const std::byte> value) {
  if (field.show) return field.show(field, value);
  const auto& shape = field.shape;
  if (value.empty()) return {"(empty)"};
  if (is_picture(field)) return {.picture = picture_in(field, value)};
  if (shape.size() == 1 && field.dtype == DType::u8 && is_text(value)) return {shown_text(value)};
  if (shape.size() <= 1 || value.size() <= most_numbers * size_of(field.dtype)) return {list_of(field, value)};
  const auto numbers = as_floats(field.dtype, value);
  const Spread spread(numbers);
  Shown shown{concat(name_of(field.dtype), " ", join(shape, "x"), ", ", spread.least, " to ", spread.greatest)};
  std::vector<std::int64_t> sides;
  std::ranges::copy_if(shape, std::back_inserter(sides), [](auto extent) { return extent != 1; });
  if (sides.size() == 2 && std::ranges::min(sides) >= least_side) shown.picture = heat_map(numbers, sides[0], sides[1]);
  return shown;
}

std::vector<ShownField> show_row(std::span<const Field> fields, std::span<const std::int64_t> extents,
                                 std::span<const std::span<const std::byte>> values) {
  std::vector<bool> tells_length(fields.size() + 1);
  for (const auto& field : fields) tells_length[length_of(fields, field)] = true;
  std::vector<ShownField> shown;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (values[i].empty() || tells_length[i]) continue;
    const OwnValue own(fields, extents, values, i);
    const auto* const pair = own.field.show.target<ShowBeside>();
    const auto other = pair ? std::ranges::find(fields, pair->beside, &Field::name) : fields.end();
    if (other == fields.end() || values[static_cast<std::size_t>(other - fields.begin())].empty()) {
      shown.push_back({own.field.name, show(own.field, own.bytes)});
      continue;
    }
    const OwnValue beside(fields, extents, values, static_cast<std::size_t>(other - fields.begin()));
    shown.push_back({own.field.name, pair->together(own.field, own.bytes, beside.field, beside.bytes)});
  }
  return shown;
}

std::vector<ShownField> show_record(const Sampler& sampler, const Record& record) {
  const auto fields = sampler.fields();
  auto extents = bounds_of(fields);
  sampler.measure(record, extents);
  for (auto& extent : extents) extent = std::max<std::int64_t>(extent, 1);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<const std::byte>> values;
  std::vector<std::byte*> starts;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto& bytes = memory.emplace_back(fields[i].row_bytes(extents_of(fields, i, extents)));
    starts.push_back(bytes.data());
    values.emplace_back(bytes);
  }
  Stream random(0, Purpose::sample, 0);
  sampler.sample(record, random, Row(starts, extents));
  return show_row(fields, extents, values);
}

std::vector<ShownField> with_recordings(const Record& record, std::vector<ShownField> fields) {
  if (std::ranges::any_of(fields, [](auto& field) { return !field.shown.sound.empty(); })) return fields;
  std::vector<ShownField> recordings;
  for (auto& part : record.parts) {
    if (part.encoding != Encoding::audio || part.bytes.empty()) continue;
    Sound sound;
    try {
      decode_sound(part.bytes, sound, Silence::keep);
    } catch (const SampleError&) {
      continue;
    }
    Shown shown{concat(double(sound.frames()) / sound.rate, " s at ", sound.rate, " Hz")};
    sound.samples.resize(std::min(sound.frames(), most_seconds * sound.rate) * sound.channels);
    encode_wav(sound, shown.sound);
    const bool taken = std::ranges::any_of(fields, [&](auto& field) { return field.name == part.name; });
    recordings.push_back({concat(taken ? "stored_" : "", part.name), std::move(shown)});
  }
  std::ranges::move(recordings, std::back_inserter(fields));
  return fields;
}

}  // namespace flowtrain
