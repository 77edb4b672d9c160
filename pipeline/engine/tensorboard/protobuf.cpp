#include "pipeline/engine/tensorboard/protobuf.h"

#include <bit>
#include <cstring>
#include <optional>

namespace flowtrain {

namespace {

static_assert(std::endian::native == std::endian::little);

enum WireType : unsigned { varint_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5 };

template <class Value>
void append_fixed(std::string& bytes, Value value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) return std::nullopt;
  const auto taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

}  // namespace

void ProtoWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtoWriter::key(unsigned field, unsigned wire_type) { varint(field << 3 | wire_type); }

void ProtoWriter::number(unsigned field, std::uint64_t value) {
  key(field, varint_type);
  varint(value);
}

void ProtoWriter::real(unsigned field, double value) {
  key(field, fixed64_type);
  append_fixed(bytes_, value);
}

void ProtoWriter::short_real(unsigned field, float value) {
  key(field, fixed32_type);
  append_fixed(bytes_, value);
}

void ProtoWriter::text(unsigned field, std::string_view bytes) {
  key(field, bytes_type);
  varint(bytes.size());
  bytes_ += bytes;
}

void ProtoWriter::reals(unsigned field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) append_fixed(packed, value);
  text(field, packed);
}

void each_field(std::string_view message, const std::function<void(const ProtoField&)>& visit) {
  while (!message.empty()) {
    const auto key = take_varint(message);
    if (!key) return;
    ProtoField field{.number = static_cast<unsigned>(*key >> 3)};
    switch (*key & 7) {
      case varint_type: {
        const auto value = take_varint(message);
        if (!value) return;
        field.value = *value;
        break;
      }
      case bytes_type: {
        const auto size = take_varint(message);
        const auto bytes = size ? take(message, *size) : std::nullopt;
        if (!bytes) return;
        field.bytes = *bytes;
        break;
      }
      case fixed64_type:
      case fixed32_type:
        if (!take(message, (*key & 7) == fixed64_type ? 8 : 4)) return;
        break;
      default: return;
    }
    visit(field);
  }
}

}  // namespace flowtrain
