#pragma once
// Reads the bytes of an untrusted file piece by piece.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sampling/core/error.h"

namespace flowtrain {

/// A position in a row of bytes. Each member throws UserError(snapshot) if fewer bytes are left than it takes.
class ByteReader {
 public:
  /// `name` stands for the bytes in a message: "weights.pth: the pickle".
  ByteReader(std::span<const std::byte> bytes, std::string name, std::uint64_t at = 0)
      : bytes_(bytes), name_(std::move(name)), at_(at) {}

  std::uint64_t at() const { return at_; }

  std::span<const std::byte> take(std::uint64_t size_bytes) {
    if (at_ > bytes_.size() || size_bytes > bytes_.size() - at_)
      throw UserError(ExitCode::snapshot,
                      name_ + " is cut short: " + std::to_string(size_bytes) + " bytes wanted at byte " +
                          std::to_string(at_) + " of " + std::to_string(bytes_.size()),
                      "get or write the file again");
    const auto piece = bytes_.subspan(at_, size_bytes);
    at_ += size_bytes;
    return piece;
  }
  void skip(std::uint64_t size_bytes) { take(size_bytes); }
  std::string_view text(std::uint64_t size_bytes) {
    const auto piece = take(size_bytes);
    return {reinterpret_cast<const char*>(piece.data()), piece.size()};
  }
  /// Reads a little-endian number.
  template <std::integral T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  std::uint64_t at_;
};

}  // namespace flowtrain
