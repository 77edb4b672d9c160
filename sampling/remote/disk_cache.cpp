#include "sampling/remote/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>

#include "sampling/io/descriptor.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little);

constexpr char cache_magic[8] = {'f', 'l', 'o', 'w', 'p', 'c', '0', '1'};
constexpr std::string_view ending = ".piece", temporary = ".new-";
constexpr std::uint64_t chunk_bytes = 64 << 10;
/// The age at which files of dead writers are removed.
constexpr auto debris_age = std::chrono::hours(1);

struct CacheHeader {
  char magic[8];
  std::uint64_t size_bytes, checksum;
};

std::uint64_t chunks_of(std::uint64_t size_bytes) { return size_bytes / chunk_bytes + (size_bytes % chunk_bytes != 0); }

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t checksum_of(std::uint64_t size_bytes, std::span<const std::uint64_t> table, std::uint64_t seed) {
  return hash_of(std::as_bytes(table), seed ^ size_bytes);
}

}  // namespace

/// An open file of the cache with valid header and table.
class DiskCache::Piece {
 public:
  /// Throws std::runtime_error for a damaged file, std::system_error for a missing one.
  explicit Piece(const Name& name) : file_(Descriptor::file(name.path.c_str())), seed_(name.seed) {
    demand(file_.read_at(0, std::as_writable_bytes(std::span(&header_, 1))) == sizeof(header_));
    demand(std::memcmp(header_.magic, cache_magic, sizeof(cache_magic)) == 0);
    const auto file_bytes = file_.size_bytes();
    demand(header_.size_bytes < file_bytes);  // so that the table's size is sane
    table_.resize(chunks_of(header_.size_bytes));
    demand(file_bytes == data_at() + header_.size_bytes);
    const auto table = std::as_writable_bytes(std::span(table_));
    demand(file_.read_at(sizeof(header_), table) == table.size());
    demand(checksum_of(header_.size_bytes, table_, seed_) == header_.checksum);
  }

  std::uint64_t size_bytes() const { return header_.size_bytes; }

  void read(std::uint64_t offset, std::span<std::byte> into) const {
    thread_local std::vector<std::byte> chunk;
    while (!into.empty()) {
      const auto which = offset / chunk_bytes, within = offset % chunk_bytes;
      chunk.resize(std::min(chunk_bytes, header_.size_bytes - which * chunk_bytes));
      demand(file_.read_at(data_at() + which * chunk_bytes, chunk) == chunk.size());
      demand(hash_of(chunk, seed_) == table_[which]);
      const auto part = std::min<std::size_t>(chunk.size() - within, into.size());
      std::memcpy(into.data(), chunk.data() + within, part);
      into = into.subspan(part);
      offset += part;
    }
  }

 private:
  static void demand(bool right) {
    if (!right) throw std::runtime_error("damaged");
  }
  std::uint64_t data_at() const { return sizeof(header_) + table_.size() * sizeof(table_[0]); }

  Descriptor file_;
  std::uint64_t seed_;
  CacheHeader header_{};
  std::vector<std::uint64_t> table_;
};

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {
  fs::create_directories(folder_);
  if (access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw fs::filesystem_error("cannot write", folder_, std::error_code(errno, std::generic_category()));
}

DiskCache::Name DiskCache::name_of(const std::string& key) const {
  const auto hash = XXH3_128bits(key.data(), key.size());
  char digits[33];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return {folder_ / (digits + std::string(ending)), hash.low64};
}

bool DiskCache::has(const std::string& key) const { return access(name_of(key).path.c_str(), R_OK) == 0; }

/// Calls use(piece), which returns whether it found the bytes. Returns false if it did not, or there is no piece.
template <class Use>
bool DiskCache::with_piece(const std::string& key, const Use& use) const {
  const auto name = name_of(key);
  try {
    if (!use(Piece(name))) return false;
  } catch (const std::runtime_error& error) {
    const auto* failed = dynamic_cast<const std::system_error*>(&error);
    if (!failed || failed->code() != std::errc::no_such_file_or_directory) unlink(name.path.c_str());
    return false;
  }
  utimensat(AT_FDCWD, name.path.c_str(), nullptr, 0);  // sets the time of use to now
  return true;
}

bool DiskCache::read(const std::string& key, std::uint64_t offset, std::span<std::byte> into) const {
  return with_piece(key, [&](const Piece& piece) {
    if (offset > piece.size_bytes() || into.size() > piece.size_bytes() - offset) return false;
    piece.read(offset, into);
    return true;
  });
}

std::optional<std::vector<std::byte>> DiskCache::read_all(const std::string& key) const {
  std::vector<std::byte> bytes;
  const bool there = with_piece(key, [&](const Piece& piece) {
    bytes.resize(piece.size_bytes());
    piece.read(0, bytes);
    return true;
  });
  return there ? std::optional(std::move(bytes)) : std::nullopt;
}

void DiskCache::write(const std::string& key, std::span<const std::byte> bytes) const {
  const auto [path, seed] = name_of(key);
  std::vector<std::uint64_t> table(chunks_of(bytes.size()));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto rest = bytes.subspan(i * chunk_bytes);
    table[i] = hash_of(rest.first(std::min<std::size_t>(rest.size(), chunk_bytes)), seed);
  }
  CacheHeader header{{}, bytes.size(), checksum_of(bytes.size(), table, seed)};
  std::memcpy(header.magic, cache_magic, sizeof(cache_magic));
  const auto head = std::as_bytes(std::span(&header, 1)), index = std::as_bytes(std::span(table));
  if (!make_room(head.size() + index.size() + bytes.size())) return;
  write_cache_file(path, folder_ / temporary, {head, index, bytes});
}

/// Takes `size_bytes` from the room that is left. If there is too little, lists the folder, since other processes write
/// there too, and removes the oldest pieces until an eighth is free; a 64th of the limit may then be written unseen.
bool DiskCache::make_room(std::uint64_t size_bytes) const {
  if (size_bytes > limit_bytes_) return false;
  const MutexLock lock(mutex_);
  if (size_bytes <= room_bytes_) {
    room_bytes_ -= size_bytes;
    return true;
  }
  struct Old {
    fs::file_time_type used;
    fs::path path;
    std::uint64_t size_bytes;
  };
  std::vector<Old> pieces;
  std::uint64_t used_bytes = 0;
  std::error_code error;  // errors of files that another process removes meanwhile
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    const bool unfinished = name.starts_with(temporary);
    if (!unfinished && !name.ends_with(ending)) continue;  // a file of somebody else
    std::error_code gone;
    const Old piece{it->last_write_time(gone), it->path(), gone ? 0 : it->file_size(gone)};
    if (gone) continue;
    const bool debris = unfinished && fs::file_time_type::clock::now() - piece.used > debris_age;
    if (debris && fs::remove(piece.path, gone)) continue;
    used_bytes += piece.size_bytes;
    if (!unfinished) pieces.push_back(piece);
  }
  if (error) return false;
  const auto room = std::max(size_bytes, limit_bytes_ / 64);
  const auto goal = limit_bytes_ - std::min(limit_bytes_, std::max(room, limit_bytes_ / 8));
  if (used_bytes > limit_bytes_ - room) {
    std::ranges::sort(pieces, {}, &Old::used);
    for (const auto& piece : pieces) {
      if (used_bytes <= goal) break;
      if (fs::remove(piece.path, error) || !error) used_bytes -= piece.size_bytes;
    }
    if (used_bytes > limit_bytes_ - room) return false;
  }
  room_bytes_ = room - size_bytes;
  return true;
}

}  // namespace flowtrain
