#include "pipeline/base/snapshot/zip_entries.h"

#include <algorithm>
#include <unordered_set>

#include "pipeline/base/snapshot/byte_reader.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end64_mark = 0x06064b50,
                        locator64_mark = 0x07064b50;
constexpr std::uint64_t end_bytes = 22, locator64_bytes = 20, max_comment_bytes = 0xffff;
constexpr std::uint16_t big16 = 0xffff;  // means "see the zip64 record"
constexpr std::uint32_t big32 = 0xffffffff;
constexpr std::uint64_t max_entries = 1 << 18;  // limit for a model: one for each tensor

/// The list of entries at the archive's end.
struct Directory {
  std::uint64_t entries, size_bytes, offset;
};

/// The directory's facts about one entry.
struct Listed {
  std::string_view name;
  std::uint64_t size_bytes, header_at;
};

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> archive, const std::string& path) : archive_(archive), path_(path) {}

  std::vector<ZipEntry> run() {
    const auto directory = read_directory();
    if (directory.entries > max_entries) fail("more than 2^18 entries");
    auto reader = at(directory.offset);
    std::unordered_set<std::string_view> names;
    std::vector<ZipEntry> entries;
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
      const auto listed = read_listed(reader);
      if (!names.insert(listed.name).second) fail("entry " + shown(listed.name) + " comes twice");
      entries.push_back({listed.name, data_of(listed, directory)});
    }
    if (reader.at() != directory.offset + directory.size_bytes) fail("the directory has another size than it says");
    std::stable_sort(entries.begin(), entries.end(),
                     [](auto& left, auto& right) { return left.data.data() < right.data.data(); });
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (entries[i - 1].data.data() + entries[i - 1].data.size() > entries[i].data.data())
        fail("entry " + shown(entries[i].name) + " lies over " + shown(entries[i - 1].name));
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::snapshot, path_ + ": damaged zip archive: " + what, "get or write the file again");
  }
  ByteReader at(std::uint64_t offset) const { return {archive_, path_ + ": the zip archive", offset}; }

  Directory read_directory() const {
    const auto end_at = find_end();
    auto end = at(end_at + 8);
    end.skip(2);  // entries on this disk
    Directory found{};
    found.entries = end.number<std::uint16_t>();
    found.size_bytes = end.number<std::uint32_t>();
    found.offset = end.number<std::uint32_t>();
    if (found.entries == big16 || found.size_bytes == big32 || found.offset == big32) found = read_end64(end_at);
    if (found.offset > end_at || found.size_bytes > end_at - found.offset) fail("the directory is not within the file");
    return found;
  }

  /// Returns the place of the end record, the last thing in the file apart from a comment, whose length it holds.
  std::uint64_t find_end() const {
    const std::string_view text(reinterpret_cast<const char*>(archive_.data()), archive_.size());
    for (auto found = text.rfind("PK\x05\x06"); found != text.npos; found = text.rfind("PK\x05\x06", found - 1)) {
      const auto after = text.size() - found;
      if (after > end_bytes + max_comment_bytes || found == 0) break;
      if (after < end_bytes) continue;
      if (at(found + end_bytes - 2).number<std::uint16_t>() == after - end_bytes) return found;
    }
    fail("no directory at its end (cut short?)");
  }

  Directory read_end64(std::uint64_t end_at) const {
    if (end_at < locator64_bytes) fail("no zip64 record");
    auto locator = at(end_at - locator64_bytes);
    if (locator.number<std::uint32_t>() != locator64_mark) fail("no zip64 record");
    locator.skip(4);  // the disk
    auto record = at(locator.number<std::uint64_t>());
    if (record.number<std::uint32_t>() != end64_mark) fail("no zip64 record");
    record.skip(28);  // skips its size, versions, disks, entries on this disk
    Directory found{};
    found.entries = record.number<std::uint64_t>();
    found.size_bytes = record.number<std::uint64_t>();
    found.offset = record.number<std::uint64_t>();
    return found;
  }

  Listed read_listed(ByteReader& reader) const {
    if (reader.number<std::uint32_t>() != central_mark) fail("the directory does not hold what it says");
    reader.skip(4);  // versions
    const bool encrypted = reader.number<std::uint16_t>() & 1;
    const bool compressed = reader.number<std::uint16_t>() != 0;
    reader.skip(8);  // time, date, checksum
    std::uint64_t packed_bytes = reader.number<std::uint32_t>(), size_bytes = reader.number<std::uint32_t>();
    const auto name_bytes = reader.number<std::uint16_t>(), extra_bytes = reader.number<std::uint16_t>(),
               comment_bytes = reader.number<std::uint16_t>();
    reader.skip(8);  // disk, attributes
    std::uint64_t header_at = reader.number<std::uint32_t>();
    const auto name = reader.text(name_bytes);
    read_extra64(reader.take(extra_bytes), {&size_bytes, &packed_bytes, &header_at});
    reader.skip(comment_bytes);
    if (name.starts_with('/') || name.find("..") != name.npos)
      fail("entry " + shown(name) + ": a name that leads out of the archive");
    if (encrypted || compressed || packed_bytes != size_bytes)
      fail("entry " + shown(name) + " is compressed or encrypted, which torch.save's never are");
    return {name, size_bytes, header_at};
  }

  /// Reads the zip64 field: the numbers that did not fit 32 bits, in this order.
  void read_extra64(std::span<const std::byte> extra, std::initializer_list<std::uint64_t*> numbers) const {
    constexpr std::uint16_t zip64_field = 1;
    ByteReader fields(extra, path_ + ": a zip entry's extra fields");
    while (extra.size() - fields.at() >= 4) {  // programs that align data may leave odd bytes at the end
      const auto id = fields.number<std::uint16_t>(), size_bytes = fields.number<std::uint16_t>();
      ByteReader field(fields.take(size_bytes), path_ + ": a zip entry's zip64 field");
      if (id != zip64_field) continue;
      for (auto* number : numbers)
        if (*number == big32) *number = field.number<std::uint64_t>();
    }
  }

  std::span<const std::byte> data_of(const Listed& entry, const Directory& directory) const {
    auto header = at(entry.header_at);
    if (header.number<std::uint32_t>() != local_mark) fail("no entry where " + shown(entry.name) + " should be");
    header.skip(22);  // repeats the directory
    const auto name_bytes = header.number<std::uint16_t>(), extra_bytes = header.number<std::uint16_t>();
    if (header.text(name_bytes) != entry.name) fail("another entry where " + shown(entry.name) + " should be");
    header.skip(extra_bytes);
    if (header.at() > directory.offset || entry.size_bytes > directory.offset - header.at())
      fail("entry " + shown(entry.name) + ": " + std::to_string(entry.size_bytes) + " bytes are not there");
    return header.take(entry.size_bytes);
  }

  std::span<const std::byte> archive_;
  const std::string& path_;
};

}  // namespace

std::vector<ZipEntry> zip_entries(std::span<const std::byte> archive, const std::string& path) {
  return ZipReader(archive, path).run();
}

}  // namespace flowtrain
