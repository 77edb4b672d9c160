#include "sampling/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/core/utf8.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t end_mark = 0x06054b50, end64_mark = 0x06064b50, locator64_mark = 0x07064b50,
                        entry_mark = 0x02014b50, local_mark = 0x04034b50;
constexpr std::size_t end_bytes = 22, locator64_bytes = 20, end64_bytes = 56, entry_bytes = 46, local_bytes = 30;
constexpr std::uint64_t max_entries = 1 << 18, max_directory_bytes = 1 << 26;
constexpr std::uint16_t ones16 = 0xffff;  // stands for a number of Zip64
constexpr std::uint32_t ones32 = 0xffffffff;
/// Deflate packs 258 bytes into two bits at best (RFC 1951).
constexpr std::uint64_t max_ratio = 1032;

/// Reads an archive's numbers; what lies beyond its end is damage.
class ZipReader {
 public:
  ZipReader(const ByteSource& file, const std::string& path, const ZipRules& rules)
      : file_(file), path_(path), rules_(rules) {}

  std::vector<ZippedFile> scan() {
    find_end();
    const auto directory = bytes_at(directory_at_, directory_bytes_);
    std::vector<ZippedFile> entries;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (directory.size() - at < entry_bytes || number<std::uint32_t>(directory, at) != entry_mark)
        fail("the directory does not hold what it says");
      const auto name_size = number<std::uint16_t>(directory, at + 28),
                 extra = number<std::uint16_t>(directory, at + 30), comment = number<std::uint16_t>(directory, at + 32);
      const std::size_t end = at + entry_bytes + name_size + extra + comment;
      if (end > directory.size()) fail("the directory does not hold what it says");
      auto entry = read_entry(std::span(directory).subspan(at, end - at), name_size, extra);
      if (!entry.name.ends_with('/')) entries.push_back(std::move(entry));  // a folder ends so
      at = end;
    }
    if (at != directory.size()) fail("the directory has another size than it says");
    check_names(entries);
    check_places(entries);
    return entries;
  }

 private:
  template <class T>
  static T number(std::span<const std::byte> bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = "fetch or write the file again") const {
    throw UserError(rules_.code, path_ + ": " + what, hint);
  }

  static std::string shown(const std::string& name) { return "'" + as_utf8(name) + "'"; }

  std::vector<std::byte> bytes_at(std::uint64_t offset, std::uint64_t size) const {
    if (offset > file_.size_bytes() || size > file_.size_bytes() - offset) fail("it is cut short");
    std::vector<std::byte> bytes(size);
    try {
      read_exactly(file_, offset, std::span(bytes));
    } catch (const std::runtime_error& error) {
      fail(error.what());
    }
    return bytes;
  }

  /// Finds the record at the end, after which only a comment follows, whose length it holds; and with it the directory.
  void find_end() {
    const auto size = file_.size_bytes();
    const auto tail_bytes = std::min<std::uint64_t>(size, end_bytes + std::numeric_limits<std::uint16_t>::max());
    const auto tail = bytes_at(size - tail_bytes, tail_bytes);
    std::optional<std::size_t> found;
    for (std::size_t at = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1; at-- > 0 && !found;)
      if (number<std::uint32_t>(tail, at) == end_mark &&
          number<std::uint16_t>(tail, at + 20) == tail.size() - at - end_bytes)
        found = at;
    if (!found) fail("it is no zip archive, or cut short");
    count_ = number<std::uint16_t>(tail, *found + 10);
    directory_bytes_ = number<std::uint32_t>(tail, *found + 12);
    directory_at_ = number<std::uint32_t>(tail, *found + 16);
    const auto end_at = size - tail_bytes + *found;
    if (count_ == ones16 || directory_bytes_ == ones32 || directory_at_ == ones32) read_end64(end_at);
    if (directory_at_ > end_at || directory_bytes_ > end_at - directory_at_)
      fail("the directory is not within the file");
    if (count_ > max_entries || directory_bytes_ > max_directory_bytes) fail("it has more than 2^18 entries");
  }

  /// Reads the numbers of Zip64, whose place stands before the record at `end_at`.
  void read_end64(std::uint64_t end_at) {
    if (end_at < locator64_bytes) fail("it has no record of Zip64");
    const auto locator = bytes_at(end_at - locator64_bytes, locator64_bytes);
    if (number<std::uint32_t>(locator, 0) != locator64_mark) fail("it has no record of Zip64");
    const auto end = bytes_at(number<std::uint64_t>(locator, 8), end64_bytes);
    if (number<std::uint32_t>(end, 0) != end64_mark) fail("it has no record of Zip64");
    count_ = number<std::uint64_t>(end, 32);
    directory_bytes_ = number<std::uint64_t>(end, 40);
    directory_at_ = number<std::uint64_t>(end, 48);
  }

  ZippedFile read_entry(std::span<const std::byte> bytes, std::size_t name_size, std::size_t extra_size) const {
    ZippedFile entry;
    entry.name.assign(reinterpret_cast<const char*>(bytes.data()) + entry_bytes, name_size);
    check_packing(entry.name, number<std::uint16_t>(bytes, 8), number<std::uint16_t>(bytes, 10));
    entry.deflated = number<std::uint16_t>(bytes, 10) != 0;
    entry.checksum = number<std::uint32_t>(bytes, 16);
    entry.packed_bytes = number<std::uint32_t>(bytes, 20);
    entry.size_bytes = number<std::uint32_t>(bytes, 24);
    std::uint64_t local_at = number<std::uint32_t>(bytes, 42);
    read_extra(bytes.subspan(entry_bytes + name_size, extra_size), entry, local_at);
    const auto local = bytes_at(local_at, local_bytes + name_size);
    if (number<std::uint32_t>(local, 0) != local_mark) fail("no entry where " + shown(entry.name) + " should be");
    if (number<std::uint16_t>(local, 26) != name_size ||
        std::memcmp(local.data() + local_bytes, entry.name.data(), name_size) != 0)
      fail("another entry where " + shown(entry.name) + " should be");
    entry.name_offset = local_at + local_bytes;
    entry.data_offset = entry.name_offset + name_size + number<std::uint16_t>(local, 28);
    if (entry.data_offset > directory_at_ || entry.packed_bytes > directory_at_ - entry.data_offset)
      fail(concat("entry ", shown(entry.name), ": ", entry.packed_bytes, " bytes are not there"));
    if (entry.deflated ? entry.size_bytes / max_ratio > entry.packed_bytes : entry.size_bytes != entry.packed_bytes)
      fail(concat("entry ", shown(entry.name), ": ", entry.packed_bytes, " bytes cannot hold ", entry.size_bytes));
    return entry;
  }

  void check_packing(const std::string& name, std::uint16_t flags, std::uint16_t method) const {
    constexpr std::uint16_t stored = 0, deflated = 8;
    if ((flags & 1) != 0) fail("entry " + shown(name) + " is encrypted", "write the archive without a password");
    if (method == stored || (method == deflated && !rules_.stored_only)) return;
    fail(concat("entry ", shown(name), " is compressed by the method ", method, ", expected none",
                rules_.stored_only ? "" : " or deflate"),
         rules_.writer_hint);
  }

  /// Replaces the numbers that are all ones by those of eight bytes in the field of Zip64. Programs that align data
  /// leave odd bytes at the end.
  void read_extra(std::span<const std::byte> extra, ZippedFile& entry, std::uint64_t& local_at) const {
    while (extra.size() >= 4) {
      const auto id = number<std::uint16_t>(extra, 0);
      const std::size_t size = number<std::uint16_t>(extra, 2);
      extra = extra.subspan(4);
      if (size > extra.size()) fail("the directory is damaged");
      auto field = extra.first(size);
      for (auto* value : {&entry.size_bytes, &entry.packed_bytes, &local_at}) {
        if (id != 1 || *value != ones32 || field.size() < 8) continue;
        *value = number<std::uint64_t>(field, 0);
        field = field.subspan(8);
      }
      extra = extra.subspan(size);
    }
  }

  void check_names(const std::vector<ZippedFile>& entries) const {
    std::unordered_set<std::string_view> names;
    for (const auto& entry : entries)
      if (!names.insert(entry.name).second) fail("entry " + shown(entry.name) + " comes twice");
  }

  void check_places(const std::vector<ZippedFile>& entries) const {
    std::vector<const ZippedFile*> places;
    for (const auto& entry : entries) places.push_back(&entry);
    std::ranges::stable_sort(places, {}, &ZippedFile::data_offset);
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i - 1]->data_offset + places[i - 1]->packed_bytes > places[i]->data_offset)
        fail("entry " + shown(places[i]->name) + " lies over " + shown(places[i - 1]->name));
  }

  const ByteSource& file_;
  const std::string& path_;
  const ZipRules& rules_;
  std::uint64_t count_ = 0, directory_at_ = 0, directory_bytes_ = 0;
};

}  // namespace

std::vector<ZippedFile> scan_zip(const ByteSource& file, const std::string& path, const ZipRules& rules) {
  return ZipReader(file, path, rules).scan();
}

std::vector<std::byte> inflate_entry(const ByteSource& file, const ZippedFile& entry, const std::string& path) {
  const auto damaged = [&](const std::string& what) {
    return UserError(ExitCode::data, path + ":" + entry.name + ": damaged data: " + what, "fetch or write it again");
  };
  std::vector<std::byte> block(std::size_t{1} << 18), bytes(entry.size_bytes);
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw InternalError("zlib cannot be set up");  // no header: raw deflate
  const struct Ender {
    z_stream* stream;
    ~Ender() { inflateEnd(stream); }
  } ender{&stream};
  std::uint64_t taken = 0, written = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      const auto step = std::min<std::uint64_t>(block.size(), entry.packed_bytes - taken);
      if (step == 0 && written == bytes.size()) throw damaged("it has no end");
      if (step == 0) throw damaged("it ends early");
      try {
        read_exactly(file, entry.data_offset + taken, std::span(block).first(step));
      } catch (const std::runtime_error& error) {
        throw damaged(error.what());
      }
      taken += step;
      stream.next_in = reinterpret_cast<Bytef*>(block.data());
      stream.avail_in = static_cast<uInt>(step);
    }
    const auto room = std::min<std::uint64_t>(bytes.size() - written, 1 << 30);
    Bytef none = 0;
    stream.next_out = room == 0 ? &none : reinterpret_cast<Bytef*>(bytes.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    written += room - stream.avail_out;
    const bool waits = status == Z_BUF_ERROR && stream.avail_in == 0;  // more input follows
    if (status == Z_BUF_ERROR && stream.avail_in > 0) throw damaged("it is longer than the directory says");
    if (status != Z_OK && status != Z_STREAM_END && !waits) throw damaged(stream.msg ? stream.msg : "not deflate");
  }
  if (written != bytes.size()) throw damaged("it is shorter than the directory says");
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (sum != entry.checksum) throw damaged("its checksum is wrong");
  return bytes;
}

}  // namespace flowtrain
