#pragma once
// Reads messages of protobuf (protobuf.dev/programming-guides/encoding) field by field.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

/// A message's bytes: while (message.next()) …. Throws UserError(data) for a damaged one.
class Protobuf {
 public:
  /// `name` is for messages; it must outlive this.
  Protobuf(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  /// Takes the next field; returns false at the end.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t key = varint();
    field_ = key >> 3;
    wire_ = static_cast<unsigned>(key & 7);
    switch (wire_) {
      case 0: number_ = varint(); break;
      case 1: value_ = take(8); break;
      case 2: value_ = take(varint()); break;
      case 5: value_ = take(4); break;
      default: fail("damaged: a field has an unknown type");
    }
    return true;
  }
  std::uint64_t field() const { return field_; }
  std::uint64_t number() const {
    expect(0);
    return number_;
  }
  std::string_view bytes() const {
    expect(2);
    return value_;
  }
  float real() const {
    expect(5);
    std::uint32_t bits = 0;
    for (std::size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(value_[i]);
    return std::bit_cast<float>(bits);
  }
  Protobuf inner() const { return {bytes(), name_}; }
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::data, concat(name_, ": ", what), "fetch the file again");
  }

 private:
  void expect(unsigned wire) const {
    if (wire_ != wire) fail(concat("damaged: field ", field_, " has another type than expected"));
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("damaged: it ends early");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("damaged: a number is too long");
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("damaged: it ends early");
    const auto taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  std::string_view bytes_, value_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::uint64_t field_ = 0, number_ = 0;
  unsigned wire_ = 0;
};

}  // namespace flowtrain
