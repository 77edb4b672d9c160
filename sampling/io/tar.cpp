#include "sampling/io/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/io/tar_links.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t block_bytes = tar_block_bytes;
/// The largest size of long names and pax headers; larger ones are damage.
constexpr std::uint64_t max_extension_bytes = 1 << 20;

/// A header block of POSIX.1-1988; numbers are octal text.
struct Header {
  char name[100], mode[8], user_id[8], group_id[8], size[12], modified[12], checksum[8], type, link[100], magic[6],
      version[2], user[32], group[32], device_major[8], device_minor[8], prefix[155], unused[12];
};
static_assert(sizeof(Header) == block_bytes);

/// Returns the text of a field, up to its first zero byte.
template <std::size_t N>
std::string_view text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

/// Reads a numeric field: octal digits between optional spaces, or GNU's big-endian base 256 if the top bit is set.
template <std::size_t N>
std::optional<std::uint64_t> number(const char (&field)[N]) {
  const auto first = static_cast<unsigned char>(field[0]);
  if (first & 0x80) {
    if (first & 0x40) return {};  // negative
    std::uint64_t value = first & 0x3f;
    for (std::size_t i = 1; i < N; ++i) {
      if (value >> 55) return {};  // would not fit 63 bits
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  const auto digits = text(field);
  const auto begin = std::min(digits.find_first_not_of(' '), digits.size());
  const auto end = std::min(digits.find(' ', begin), digits.size());
  if (begin == end) return 0;  // old archives leave unused fields blank
  return parse_number<std::uint64_t>(digits.substr(begin, end - begin), 8);
}

/// Returns the value of the field `checksum`: the sum of all bytes, with that field's own as spaces; some old programs
/// summed signed characters.
template <class Character>
std::int64_t checksum_of(const Header& header) {
  const auto* bytes = reinterpret_cast<const Character*>(&header);
  constexpr auto begin = offsetof(Header, checksum), end = begin + sizeof(header.checksum);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block_bytes; ++i) sum += i >= begin && i < end ? ' ' : bytes[i];
  return sum;
}

bool checksum_fits(const Header& header) {
  const auto stored = number(header.checksum);
  return stored && (static_cast<std::int64_t>(*stored) == checksum_of<unsigned char>(header) ||
                    static_cast<std::int64_t>(*stored) == checksum_of<signed char>(header));
}

/// Writes octal digits that fill the field except for a zero at its end.
template <std::size_t N>
void put_number(char (&field)[N], std::uint64_t value) {
  for (std::size_t i = N - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

/// Returns a name relative to the folder that the archive is unpacked to: without a leading slash, and without empty
/// and "." parts. Empty for names with "..", which may lead out of that folder, and for the folder itself.
std::string name_inside(std::string_view name) {
  std::string inside;
  while (!name.empty()) {
    const auto slash = std::min(name.find('/'), name.size());
    const auto part = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    if (part == "..") return {};
    if (part.empty() || part == ".") continue;
    if (!inside.empty()) inside += '/';
    inside += part;
  }
  return inside;
}

/// An entry of an archive, as its headers describe it.
struct Member {
  char type;
  std::string name, target;  ///< names as written; `target` is that of a link
  std::uint64_t data, size;

  bool is_symbolic() const { return type == '2'; }
  bool is_link() const { return type == '1' || type == '2'; }
  bool is_folder() const { return type == '5' || (is_file() && name.ends_with('/')); }
  bool is_file() const { return type == '0' || type == 0 || type == '7'; }
};

class Scanner {
 public:
  Scanner(const ByteSource& file, const std::string& path, const std::function<void(const Member&)>& found)
      : file_(file), headers_(file, 4096, 4096), path_(path), found_(found) {}

  void run() {
    const auto file_bytes = headers_.size_bytes();
    while (read_header()) {
      const auto data = at_ + block_bytes;
      const auto size = data_bytes();
      const auto rest = file_bytes - std::min(data, file_bytes);
      if (size > rest)
        fail("an entry has " + std::to_string(size) + " bytes, but the file ends after " + std::to_string(rest) +
             ": the archive is truncated");
      take(data, size);
      at_ = data + (size + block_bytes - 1) / block_bytes * block_bytes;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "get or write the archive again") const {
    throw UserError(ExitCode::data, path_ + ": at byte " + std::to_string(at_) + ": " + what, hint);
  }

  /// Reads the header at at_; returns false at the end mark, a block of zeros.
  bool read_header() {
    const auto block = std::as_writable_bytes(std::span(&header_, 1));
    if (headers_.read_at(at_, block) < block_bytes) fail("there is no end mark: the archive is truncated");
    if (std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; })) return false;
    if (checksum_fits(header_)) return true;
    if (at_ == 0)
      fail("the file is not a tar archive", "unpack .tar.gz to .tar: compressed archives cannot be read in place");
    fail("the header's checksum is wrong: the archive is damaged");
  }

  /// Returns the number of bytes after the header.
  std::uint64_t data_bytes() const {
    if (header_.type >= '1' && header_.type <= '6') return 0;  // links, devices, folders: their size does not count
    const bool extension = std::strchr("LKxg", header_.type) && header_.type;
    const auto stored = extension || !pax_size_ ? number(header_.size) : pax_size_;
    if (!stored) fail("the header's size is not a number");
    return *stored;
  }

  void take(std::uint64_t data, std::uint64_t size) {
    switch (header_.type) {
      case 'L': long_name_ = extension(data, size); return;
      case 'x': read_pax(extension(data, size)); return;
      case 'K': long_target_ = extension(data, size); return;
      case 'g': return;  // pax records for all entries
      case 'S': fail("a sparse file cannot be read in place", "write the archive without --sparse");
    }
    Member member{header_.type, name(), long_target_ ? *long_target_ : std::string(text(header_.link)), data, size};
    for (auto* text : {&member.name, &member.target}) text->resize(std::min(text->find('\0'), text->size()));
    found_(member);
    long_name_.reset();
    long_target_.reset();
    pax_size_.reset();
  }

  /// Returns the name in the header, or the one in the extensions before it.
  std::string name() const {
    if (long_name_) return *long_name_;
    const std::string name(text(header_.name));
    // GNU's own format ("ustar  ") has other contents in place of POSIX's prefix.
    const bool posix = std::memcmp(header_.magic, "ustar", 6) == 0;
    return posix && header_.prefix[0] ? std::string(text(header_.prefix)) + '/' + name : name;
  }

  std::string extension(std::uint64_t data, std::uint64_t size) const {
    if (size > max_extension_bytes) fail("a name has " + std::to_string(size) + " bytes: the archive is damaged");
    std::string bytes(size, '\0');
    if (file_.read_at(data, std::as_writable_bytes(std::span(bytes))) < size) fail("the archive is truncated");
    return bytes;
  }

  /// Reads records "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
  void read_pax(std::string_view records) {
    while (!records.empty()) {
      std::size_t length = 0;
      const auto digits = std::from_chars(records.data(), records.data() + records.size(), length);
      const auto begin = static_cast<std::size_t>(digits.ptr - records.data()) + 1;
      const bool framed = digits.ec == std::errc() && begin < length && length <= records.size() &&
                          records[begin - 1] == ' ' && records[length - 1] == '\n';
      const auto record = framed ? records.substr(begin, length - begin - 1) : std::string_view();
      const auto equals = record.find('=');
      if (equals == record.npos) fail("a pax header is damaged");
      take_pax(record.substr(0, equals), record.substr(equals + 1));
      records.remove_prefix(length);
    }
  }

  void take_pax(std::string_view key, std::string_view value) {
    if (key == "path" && !value.empty()) long_name_ = value;
    if (key == "linkpath" && !value.empty()) long_target_ = value;
    if (key == "size" && !(pax_size_ = parse_number<std::uint64_t>(value))) fail("a pax size is damaged");
    if (key.starts_with("GNU.sparse.")) fail("a sparse file cannot be read in place", "write it without --sparse");
  }

  const ByteSource& file_;
  const ScanWindow headers_;  // reads several blocks at once: small files have the next headers near
  const std::string& path_;
  const std::function<void(const Member&)>& found_;
  std::uint64_t at_ = 0;
  Header header_{};
  // Extension headers give these for the next entry.
  std::optional<std::string> long_name_, long_target_;
  std::optional<std::uint64_t> pax_size_;
};

/// Finds all members of an archive, for its links.
TarLinks index_links(const ByteSource& file, const std::string& path) {
  TarLinks links;
  Scanner(file, path, [&](const Member& member) {
    const auto name = name_inside(member.name);
    if (name.empty()) return;
    if (member.is_symbolic()) {
      links.add_symbolic(name, member.target);
    } else if (member.is_link()) {
      links.add_hard(name, name_inside(member.target));
    } else if (member.is_folder()) {
      links.add_folder(name);
    } else if (member.is_file()) {
      links.add_file(name, {member.data, member.size});
    }
  }).run();
  return links;
}

/// Counts entries that are left out, for one warning.
class LeftOutEntries {
 public:
  void add(const Member& member) {
    constexpr std::size_t most = 3;
    if (++entries_ <= most)
      examples_.push_back(as_utf8(member.is_link() ? member.name + " -> " + member.target : member.name));
  }
  void report(const std::string& path) const {
    if (entries_ == 0) return;
    warn(concat(path, ": ", entries_,
                entries_ == 1 ? " entry is left out: it leads" : " entries are left out: they lead",
                " out of the archive or nowhere: ", join(examples_), entries_ > examples_.size() ? ", …" : ""));
  }

 private:
  std::uint64_t entries_ = 0;
  std::vector<std::string> examples_;
};

}  // namespace

void scan_tar(const ByteSource& file, const std::string& path, const std::function<void(const TarEntry&)>& found,
              const std::function<void(std::string_view)>& found_folder) try {
  std::optional<TarLinks> links;
  LeftOutEntries left_out;
  const auto tell = [&](const std::string& name, TarLinks::Extent extent) {
    found({name, extent.offset, extent.size_bytes});
  };
  Scanner(file, path, [&](const Member& member) {
    const auto name = name_inside(member.name);
    if (name.empty()) {
      if (member.name.find("..") != member.name.npos) left_out.add(member);
    } else if (member.is_folder()) {
      if (found_folder) found_folder(name);
    } else if (member.is_file()) {
      found({name, member.data, member.size});
    } else if (member.is_link()) {
      if (!links) links = index_links(file, path);
      if (!links->follow(name, tell)) left_out.add(member);
    }
  }).run();
  left_out.report(path);
} catch (const TarLinks::Circle& circle) {
  throw UserError(ExitCode::data, path + ": " + circle.what(), "write the archive again without that link");
} catch (const std::system_error& error) {
  throw UserError(ExitCode::data, path + ": " + error.what());
}

std::array<char, tar_block_bytes> tar_header(std::string_view name, std::uint64_t size_bytes) {
  Header header{};
  constexpr std::uint64_t size_end = std::uint64_t{1} << 33;  // eleven octal digits
  if (name.empty() || name.size() > sizeof(header.name) || size_bytes >= size_end)
    throw InternalError("a ustar header cannot hold a name of " + std::to_string(name.size()) + " bytes and " +
                        std::to_string(size_bytes) + " bytes of data");
  name.copy(header.name, name.size());
  put_number(header.mode, 0644);
  put_number(header.user_id, 0);
  put_number(header.group_id, 0);
  put_number(header.size, size_bytes);
  put_number(header.modified, 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", sizeof(header.magic));
  std::memset(header.version, '0', sizeof(header.version));
  put_number(header.checksum, static_cast<std::uint64_t>(checksum_of<unsigned char>(header)));
  std::array<char, tar_block_bytes> block;
  std::memcpy(block.data(), &header, block.size());
  return block;
}

}  // namespace flowtrain
