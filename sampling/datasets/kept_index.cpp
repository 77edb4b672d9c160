#include "sampling/datasets/kept_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> index_magic{'f', 'l', 'o', 'w', 'i', 'x', '0', '5'};
/// The coarsest step in which file systems note times: two seconds (FAT).
constexpr std::int64_t coarsest_clock_ns = 2'000'000'000;

struct IndexHeader {
  std::array<char, 8> magic;
  FileVersion file;
  std::uint64_t kept_bytes, checksum;
};

/// Hashes eight blocks spread over the file and its end: other contents of the same length nearly always differ in
/// some, as the headers in a tar hold times and checksums. Returns 0 if they cannot be read.
std::uint64_t hash_of_samples(const ByteSource& file) try {
  constexpr std::uint64_t samples = 8;
  const auto size_bytes = file.size_bytes();
  std::array<std::byte, 4096> block;
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i <= samples; ++i) {
    const auto offset =
        i < samples ? size_bytes / samples * i : size_bytes - std::min<std::uint64_t>(size_bytes, block.size());
    hash = XXH3_64bits_withSeed(block.data(), file.read_at(offset, block), hash);
  }
  return hash;
} catch (const std::runtime_error&) {
  return 0;
}

/// Waits at most some milliseconds until the file system gives a new file a time after `changed_ns`; returns false if
/// it does not.
bool waits_for_tick(int file, std::int64_t changed_ns) {
  struct stat made;
  for (int tries = 0; tries < 10; ++tries) {
    if (fstat(file, &made) != 0) return false;
    if (nanoseconds(made.st_ctim) > changed_ns) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (futimens(file, nullptr) != 0) return false;
  }
  return false;
}

std::string name_of(const std::string& path) { return path + ".index"; }

}  // namespace

KeptIndex::KeptIndex(const std::string& path, const Descriptor& file)
    : path_(path), version_{file.size_bytes(), file.modified_ns(), file.changed_ns(), hash_of_samples(file)} {}

std::optional<std::vector<std::byte>> KeptIndex::recall() const {
  try {
    const auto index = Descriptor::file(name_of(path_).c_str());
    IndexHeader header{};
    if (index.read_at(0, std::as_writable_bytes(std::span(&header, 1))) < sizeof(header)) return {};
    const bool fits = header.magic == index_magic && header.file == version_ &&
                      header.kept_bytes == index.size_bytes() - sizeof(header);
    if (!fits) return {};
    std::vector<std::byte> kept(header.kept_bytes);
    if (index.read_at(sizeof(header), kept) < kept.size() || checksum_of(header, kept) != header.checksum) return {};
    return kept;
  } catch (const std::runtime_error&) {
    return {};
  }
}

void KeptIndex::keep(std::span<const std::byte> bytes) const {
  // The name is checked, because another file may have replaced the open one.
  struct stat now;
  if (::stat(path_.c_str(), &now) != 0) return;
  const bool same = static_cast<std::uint64_t>(now.st_size) == version_.size_bytes &&
                    nanoseconds(now.st_mtim) == version_.modified_ns && nanoseconds(now.st_ctim) == version_.changed_ns;
  if (!same) return;

  IndexHeader header{index_magic, version_, bytes.size(), 0};
  header.checksum = checksum_of(header, bytes);
  write_cache_file(name_of(path_), name_of(path_) + ".", {std::as_bytes(std::span(&header, 1)), bytes}, [&](int file) {
    // The time of a new file is compared, because the file system's clock need not be ours.
    if (!waits_for_tick(file, version_.changed_ns)) return false;
    struct stat made;
    if (fstat(file, &made) != 0 || nanoseconds(made.st_mtim) - version_.modified_ns < coarsest_clock_ns) return false;
    return fchmod(file, now.st_mode & 0666) == 0;  // users who may read the file may read its index
  });
}

KeptValues::KeptValues(const std::filesystem::path& folder, const char* kind, std::uint64_t fingerprint,
                       std::uint64_t settings)
    : header_{{'f', 'l', 'o', 'w', kind[0], kind[1], '0', '1'}, fingerprint, settings, 0},
      path_(folder / concat(hash_hex(fingerprint_of(settings, fingerprint)), ".", kind)) {}

bool KeptValues::recall(std::span<std::byte> into) const try {
  const auto file = Descriptor::file(path_.c_str());
  Header header;
  const auto head = std::as_writable_bytes(std::span(&header, 1));
  return file.size_bytes() == head.size() + into.size() && file.read_at(0, head) == head.size() &&
         header.magic == header_.magic && header.fingerprint == header_.fingerprint &&
         header.settings == header_.settings && file.read_at(head.size(), into) == into.size() &&
         header.checksum == checksum_of(header, into);
} catch (const std::runtime_error&) {
  return false;
}

bool KeptValues::keep(std::span<const std::byte> bytes) const {
  auto header = header_;
  header.checksum = checksum_of(header, bytes);
  std::error_code failed;  // writing then fails, too
  std::filesystem::create_directories(path_.parent_path(), failed);
  return write_cache_file(path_, path_.string() + ".", {std::as_bytes(std::span(&header, 1)), bytes});
}

}  // namespace flowtrain
