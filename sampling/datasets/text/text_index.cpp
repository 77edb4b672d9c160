#include "sampling/datasets/text/text_index.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace flowtrain {
namespace {

constexpr std::uint64_t block_bytes = 1 << 18;

void put_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<std::byte>(number | 0x80));
  bytes.push_back(static_cast<std::byte>(number));
}

/// Takes a number of at most 63 bits; nothing if the bytes hold none.
std::optional<std::uint64_t> take_number(std::span<const std::byte> bytes, std::uint64_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 63 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(bytes[at++]);
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return {};
}

bool is_blank(std::string_view piece) { return piece.find_first_not_of(" \t\r") == piece.npos; }

/// A line of a file, without its "\n" and a "\r" before that.
struct Line {
  std::uint64_t begin, end, next;  ///< `next`: where the next line begins
  bool blank;
};

/// Passes the lines between two bytes of a file to `take`, as long as it returns true.
template <class Take>
void each_line(const ByteSource& file, std::uint64_t begin, std::uint64_t end, Take&& take) {
  std::vector<char> block(std::min(block_bytes, end - begin));
  Line line{begin, begin, begin, true};
  char last = 0;
  const auto finish = [&](std::uint64_t to, std::uint64_t next) {
    line.end = to - (last == '\r' ? 1 : 0);
    line.next = next;
    const bool goes_on = take(std::as_const(line));
    line = {next, next, next, true};
    last = 0;
    return goes_on;
  };
  for (std::uint64_t at = begin; at < end;) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), end - at));
    read_exactly(file, at, std::as_writable_bytes(part));
    const std::string_view text(part.data(), part.size());
    for (std::size_t from = 0; from < text.size();) {
      const auto newline = std::min(text.find('\n', from), text.size());
      line.blank = line.blank && is_blank(text.substr(from, newline - from));
      if (newline > from) last = text[newline - 1];
      if (newline == text.size()) break;
      if (!finish(at + newline, at + newline + 1)) return;
      from = newline + 1;
    }
    at += text.size();
  }
  if (line.begin < end) finish(end, end);
}

}  // namespace

void TextIndex::add(TextRange range) {
  if (size_ % stride == 0) places_.push_back({bytes_.size(), end_});
  put_number(bytes_, range.offset - end_);
  put_number(bytes_, range.size_bytes);
  end_ = range.offset + range.size_bytes;
  ++size_;
}

void TextIndex::append(const TextIndex& later) {
  std::uint64_t at = 0, end = 0;
  for (std::uint64_t i = 0; i < later.size_; ++i) {
    const std::uint64_t offset = end + *take_number(later.bytes_, at), size_bytes = *take_number(later.bytes_, at);
    add({offset, size_bytes});
    end = offset + size_bytes;
  }
}

TextRange TextIndex::operator[](std::uint64_t number) const {
  auto [at, end] = places_[number / stride];
  TextRange range;
  for (std::uint64_t i = number / stride * stride; i <= number; ++i) {
    range.offset = end + *take_number(bytes_, at);
    range.size_bytes = *take_number(bytes_, at);
    end = range.offset + range.size_bytes;
  }
  return range;
}

std::optional<TextIndex> TextIndex::parse(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  TextIndex index;
  for (std::uint64_t at = 0; at < bytes.size();) {
    const auto gap = take_number(bytes, at);
    const auto size_bytes = gap ? take_number(bytes, at) : std::nullopt;
    if (!size_bytes || *size_bytes == 0 || *gap > file_bytes - index.end_) return {};
    if (*size_bytes > file_bytes - index.end_ - *gap) return {};
    index.add({index.end_ + *gap, *size_bytes});
  }
  if (index.bytes_.size() != bytes.size()) return {};  // a number had zeros at its end
  return index;
}

TextIndex scan_text(const ByteSource& file, TextUnit unit, std::uint64_t begin, std::uint64_t end) {
  TextIndex index;
  TextRange open;  // the paragraph so far; length 0: none
  const auto close = [&] {
    if (open.size_bytes > 0) index.add(open);
    open = {};
  };
  each_line(file, begin, end, [&](const Line& line) {
    if (line.blank || unit == TextUnit::line) close();
    if (line.blank) return true;
    if (open.size_bytes == 0) open.offset = line.begin;
    open.size_bytes = line.end - open.offset;
    return true;
  });
  close();
  return index;
}

std::uint64_t record_border(const ByteSource& file, TextUnit unit, std::uint64_t from, std::uint64_t end) {
  if (from == 0 || from >= end) return std::min(from, end);
  std::uint64_t border = end;
  bool is_whole = false;  // the first line may have begun before
  each_line(file, from - 1, end, [&](const Line& line) {
    const bool ends = unit == TextUnit::line || (line.blank && is_whole);
    if (ends) border = line.next;
    is_whole = true;
    return !ends;
  });
  return border;
}

}  // namespace flowtrain
