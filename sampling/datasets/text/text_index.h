#pragma once
// The places of the records of a text file: its lines or paragraphs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// The pieces of a text file that are records. A line ends at "\n" or "\r\n", which are not part of it. A line of
/// blanks (spaces, tabs, carriage returns) is blank. A paragraph is all lines between two that are blank.
enum class TextUnit : std::uint8_t { file, line, paragraph };

/// A range of a file's bytes.
struct TextRange {
  std::uint64_t offset = 0, size_bytes = 0;
  bool operator==(const TextRange&) const = default;
};

/// The ranges of a file's records, in ascending order: mostly two or three bytes for each. Each is kept as its distance
/// from the end of the one before and its length, both as numbers of seven bits a byte, least significant first
/// (LEB128).
class TextIndex {
 public:
  /// Adds a range behind all others; its length is not 0.
  void add(TextRange range);
  /// Adds the ranges of a later piece of the same file.
  void append(const TextIndex& later);
  std::uint64_t size() const { return size_; }
  /// Returns a range; the 63 before it may be passed on the way.
  TextRange operator[](std::uint64_t number) const;

  /// Returns the bytes from which parse() makes the same index.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns the index that the bytes are; nothing unless they hold ranges within a file of `file_bytes`.
  static std::optional<TextIndex> parse(std::span<const std::byte> bytes, std::uint64_t file_bytes);

 private:
  static constexpr std::uint64_t stride = 64;
  /// The place in `bytes_` of every 64th range, and the end of the range before it.
  struct Place {
    std::uint64_t byte, offset;
  };
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
  std::uint64_t size_ = 0, end_ = 0;
};

/// Returns the ranges of the lines or paragraphs that are not blank between two bytes of a file, of which the first one
/// begins a record (see record_border). Throws std::runtime_error for a file that cannot be read or ends early.
TextIndex scan_text(const ByteSource& file, TextUnit unit, std::uint64_t begin, std::uint64_t end);

/// Returns the first place from `from` on, up to `end`, at which a record may begin and none goes on. Throws
/// std::runtime_error.
std::uint64_t record_border(const ByteSource& file, TextUnit unit, std::uint64_t from, std::uint64_t end);

}  // namespace flowtrain
