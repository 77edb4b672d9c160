#include "sampling/datasets/idx_file.h"

#include <algorithm>
#include <cstdio>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr unsigned u8_type = 0x08;

std::string type_text(unsigned type) {
  const char* name = "unknown values";
  switch (type) {
    case u8_type: name = "u8 values"; break;
    case 0x09: name = "i8 values"; break;
    case 0x0B: name = "i16 values"; break;
    case 0x0C: name = "i32 values"; break;
    case 0x0D: name = "f32 values"; break;
    case 0x0E: name = "f64 values"; break;
  }
  char code[16];
  std::snprintf(code, sizeof code, " (0x%02X)", type);
  return std::string(name) + code;
}

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) { return join(shape, " x "); }

IdxFile parse_idx(std::vector<std::byte> bytes, const std::string& name) {
  const auto fault = [&](const std::string& what, const char* hint = "fetch the file again") {
    return UserError(ExitCode::data, name + ": " + what, hint);
  };
  const auto byte = [&](std::size_t at) { return std::to_integer<unsigned>(bytes[at]); };
  if (bytes.size() < 4) throw fault("not an IDX file: it has " + std::to_string(bytes.size()) + " bytes");
  if (byte(0) != 0 || byte(1) != 0) {
    char start[16];
    std::snprintf(start, sizeof start, "%02X %02X %02X %02X", byte(0), byte(1), byte(2), byte(3));
    throw fault(std::string("not an IDX file: it starts with ") + start + ", expected 00 00 08 and the dimensions");
  }
  if (byte(2) != u8_type)
    throw fault("the file holds " + type_text(byte(2)) + ", expected " + type_text(u8_type),
                "convert the values to unsigned bytes");

  IdxFile file;
  const std::size_t dimensions = byte(3);
  file.header_bytes = 4 + 4 * dimensions;
  if (dimensions == 0) throw fault("the header names no dimensions");
  if (bytes.size() < file.header_bytes) throw fault("truncated within its header");
  for (std::size_t at = 4; at < file.header_bytes; at += 4)
    file.shape.push_back(std::uint64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3));

  // The sizes are not trusted, and their product may overflow: it is computed only as far as there are bytes.
  const std::uint64_t held = bytes.size() - file.header_bytes;
  const bool empty = std::ranges::find(file.shape, 0u) != file.shape.end();
  std::uint64_t wanted = empty ? 0 : 1;
  if (!empty)
    for (const auto extent : file.shape) wanted = extent > held / wanted ? held + 1 : wanted * extent;
  if (wanted != held)
    throw fault(std::string(wanted > held ? "truncated" : "too long") + ": the header says " + shape_text(file.shape) +
                ", but " + std::to_string(held) + " bytes follow");
  file.bytes = std::move(bytes);
  return file;
}

}  // namespace flowtrain
