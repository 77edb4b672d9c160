#include "sampling/io/stored_array.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "sampling/core/mistake.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Traits {
  const char* name;
  std::size_t bytes;
  DType record;
};

constexpr std::array<Traits, 13> types{{{"bool", 1, DType::u8},
                                        {"i8", 1, DType::i32},
                                        {"u8", 1, DType::u8},
                                        {"i16", 2, DType::i32},
                                        {"u16", 2, DType::i32},
                                        {"i32", 4, DType::i32},
                                        {"u32", 4, DType::i64},
                                        {"i64", 8, DType::i64},
                                        {"u64", 8, DType::i64},
                                        {"f16", 2, DType::f32},
                                        {"bf16", 2, DType::f32},
                                        {"f32", 4, DType::f32},
                                        {"f64", 8, DType::f32}}};

const Traits& traits(StoredType type) { return types.at(static_cast<std::size_t>(type)); }

/// Converts IEEE 754 binary16 to binary32, which holds each of its values.
float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::int64_t from_u64(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw std::runtime_error("the element " + std::to_string(value) + " of u64 is beyond i64");
  return static_cast<std::int64_t>(value);
}

template <class From, class To, class Convert>
void convert_each(std::span<const std::byte> from, std::span<std::byte> into, Convert&& convert) {
  const auto count = from.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {  // copied one by one, since files do not align them
    From value;
    std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    const To to = convert(value);
    std::memcpy(into.data() + i * sizeof(To), &to, sizeof(To));
  }
}

template <class From, class To>
void widen_each(std::span<const std::byte> from, std::span<std::byte> into) {
  convert_each<From, To>(from, into, [](From value) { return static_cast<To>(value); });
}

[[noreturn]] void fail(const std::string& what, const std::string& hint = "write the file again") {
  throw Mistake(what, hint);
}

/// Returns the text after `'name':` in the header's dict; empty if there is none.
std::string_view value_of(std::string_view dict, std::string_view name) {
  for (auto at = dict.find(name); at != dict.npos; at = dict.find(name, at + 1)) {
    const bool quoted = at > 0 && at + name.size() < dict.size() && (dict[at - 1] == '\'' || dict[at - 1] == '"') &&
                        dict[at + name.size()] == dict[at - 1];
    if (!quoted) continue;
    const auto rest = trimmed(dict.substr(at + name.size() + 1));
    if (rest.starts_with(':')) return trimmed(rest.substr(1));
  }
  return {};
}

StoredType type_of(std::string_view descr) {
  const char quote = descr.empty() ? '\0' : descr.front();
  const auto end = descr.find(quote, 1);
  if ((quote != '\'' && quote != '"') || end == descr.npos)
    fail("the elements are records of several values", "save each value as an array of its own");
  auto name = descr.substr(1, end - 1);
  const char order = name.empty() || std::isalnum(static_cast<unsigned char>(name.front())) ? '=' : name.front();
  if (order != '=' || name.starts_with('=')) name.remove_prefix(1);
  const auto whole = std::string(descr.substr(1, end - 1));
  static constexpr std::pair<std::string_view, StoredType> known[] = {
      {"b1", StoredType::boolean}, {"i1", StoredType::i8},  {"u1", StoredType::u8},  {"i2", StoredType::i16},
      {"u2", StoredType::u16},     {"i4", StoredType::i32}, {"u4", StoredType::u32}, {"i8", StoredType::i64},
      {"u8", StoredType::u64},     {"f2", StoredType::f16}, {"f4", StoredType::f32}, {"f8", StoredType::f64}};
  const auto* found = std::ranges::find(known, name, &std::pair<std::string_view, StoredType>::first);
  if (found == std::end(known))
    fail("the elements are of NumPy's type '" + whole + "', expected numbers",
         "save arrays of integers, bool, float16, float32 or float64");
  if (order == '>' && size_of(found->second) > 1)
    fail("the elements ('" + whole + "') are big-endian",
         "save x.astype(x.dtype.newbyteorder('<')) instead of the array x");
  return found->second;
}

void read_shape(std::string_view text, NpyHeader& header) {
  const auto end = text.find(')');
  if (!text.starts_with('(') || end == text.npos) fail("the header has no shape");
  text = text.substr(1, end - 1);
  while (!trimmed(text).empty()) {
    const auto comma = std::min(text.find(','), text.size());
    auto digits = trimmed(text.substr(0, comma));
    if (digits.ends_with('L')) digits.remove_suffix(1);  // Python 2 writes it
    const auto size = parse_number<std::int64_t>(digits);
    if (!size || *size < 0) fail("the header has no shape");
    if (header.axes == NpyHeader::max_axes) fail("it has more than 16 axes");
    header.sizes[header.axes++] = *size;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

}  // namespace

const char* name_of(StoredType type) { return traits(type).name; }
std::size_t size_of(StoredType type) { return traits(type).bytes; }
DType record_type(StoredType type) { return traits(type).record; }
bool is_stored_as(StoredType type, DType as) {
  return record_type(type) == as && (type == StoredType::boolean || name_of(type) == std::string_view(name_of(as)));
}
bool is_integer(StoredType type) { return type >= StoredType::i8 && type <= StoredType::u64; }

std::optional<StoredType> stored_type(std::string_view name) {
  const auto found = std::ranges::find(types, lower_case(name), &Traits::name);
  if (found == types.end()) return {};
  return static_cast<StoredType>(found - types.begin());
}

void convert_elements(StoredType type, std::span<const std::byte> from, std::span<std::byte> into) {
  switch (type) {
    case StoredType::i8: return widen_each<std::int8_t, std::int32_t>(from, into);
    case StoredType::i16: return widen_each<std::int16_t, std::int32_t>(from, into);
    case StoredType::u16: return widen_each<std::uint16_t, std::int32_t>(from, into);
    case StoredType::u32: return widen_each<std::uint32_t, std::int64_t>(from, into);
    case StoredType::u64: return convert_each<std::uint64_t, std::int64_t>(from, into, from_u64);
    case StoredType::f16: return convert_each<std::uint16_t, float>(from, into, from_f16);
    case StoredType::bf16: return convert_each<std::uint16_t, float>(from, into, from_bf16);
    case StoredType::f64: return widen_each<double, float>(from, into);
    case StoredType::boolean:
    case StoredType::u8:
    case StoredType::i32:
    case StoredType::i64:
    case StoredType::f32: break;
  }
  if (!from.empty()) std::memcpy(into.data(), from.data(), from.size());
}

NpyHeader parse_npy(std::span<const std::byte> beginning, std::uint64_t file_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  constexpr std::string_view magic = "\x93NUMPY";
  if (!text.starts_with(magic) || text.size() < 10) fail("it is no .npy file", "write it with numpy.save");
  const auto byte = [&](std::size_t at) { return std::uint64_t{static_cast<unsigned char>(text[at])}; };
  const bool short_length = byte(6) == 1;
  if (byte(6) < 1 || byte(6) > 3) fail("it is of version " + std::to_string(byte(6)) + " of .npy, expected 1 to 3");
  const std::size_t start = short_length ? 10 : 12;
  if (text.size() < start) fail("it is cut short");
  const auto length = short_length ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) fail("it is cut short within its header");
  const auto dict = text.substr(start, length);

  NpyHeader header;
  header.type = type_of(value_of(dict, "descr"));
  read_shape(value_of(dict, "shape"), header);
  if (value_of(dict, "fortran_order").starts_with("True") && header.axes > 1)
    fail("it is in Fortran's order: the first axis varies fastest",
         "save numpy.ascontiguousarray(x) instead of the array x");
  header.data_offset = start + length;
  // The sizes are not trusted: their product may overflow.
  const bool empty = std::ranges::find(header.shape(), 0) != header.shape().end();
  std::uint64_t bytes = empty ? 0 : size_of(header.type);
  bool overflows = false;
  for (const auto size : header.shape())
    overflows = overflows || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  const auto held = file_bytes - std::min(file_bytes, header.data_offset);
  if (overflows || bytes > held)
    fail(concat("it is cut short: its header says ", join(header.shape(), " x "), " elements of ", name_of(header.type),
                ", but ", held, " bytes follow"));
  header.data_bytes = bytes;
  return header;
}

std::string npy_header(DType type, std::span<const std::int64_t> shape) {
  constexpr std::array descriptions{"|u1", "<i4", "<i8", "<f4"};
  constexpr std::size_t alignment = 64, before = 10;  // the magic, the version and the length of what follows
  std::string text =
      concat("{'descr': '", descriptions.at(static_cast<std::size_t>(type)), "', 'fortran_order': False, 'shape': (",
             join(shape, ", "), shape.size() == 1 ? "," : "", "), }");
  text.resize((before + text.size() + alignment) / alignment * alignment - before - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace flowtrain
