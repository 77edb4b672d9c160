#include "sampling/datasets/kept_index.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <stdexcept>

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> magic{'f', 'l', 'o', 'w', 'i', 'x', '0', '2'};
/// File systems note times in steps of up to two seconds (FAT).
constexpr std::int64_t coarsest_clock_ns = 2'000'000'000;

struct Header {
  std::array<char, 8> magic;
  std::uint64_t file_bytes;
  std::int64_t modified_ns;
  std::uint64_t kept_bytes, checksum;
};

std::uint64_t checksum_of(Header header, std::span<const std::byte> kept) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(kept.data(), kept.size(), XXH3_64bits(&header, sizeof(header)));
}

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::string name_of(const std::string& path) { return path + ".index"; }

}  // namespace

KeptIndex::KeptIndex(const std::string& path, const Descriptor& file)
    : path_(path), size_bytes_(file.size_bytes()), modified_ns_(file.modified_ns()) {}

std::optional<std::vector<std::byte>> KeptIndex::recall() const {
  try {
    const auto index = Descriptor::file(name_of(path_).c_str());
    Header header{};
    if (index.read_at(0, std::as_writable_bytes(std::span(&header, 1))) < sizeof(header)) return {};
    const bool fits = header.magic == magic && header.file_bytes == size_bytes_ && header.modified_ns == modified_ns_ &&
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
  // By name: another file may have taken the place of the one that is open.
  struct stat now;
  if (::stat(path_.c_str(), &now) != 0) return;
  if (static_cast<std::uint64_t>(now.st_size) != size_bytes_ || nanoseconds(now.st_mtim) != modified_ns_) return;

  Header header{magic, size_bytes_, modified_ns_, bytes.size(), 0};
  header.checksum = checksum_of(header, bytes);
  write_cache_file(name_of(path_), name_of(path_) + ".", {std::as_bytes(std::span(&header, 1)), bytes}, [&](int file) {
    // The time that the file system gives to a new file is the one to compare with: its clock need not be ours.
    struct stat made;
    if (fstat(file, &made) != 0 || nanoseconds(made.st_mtim) - modified_ns_ < coarsest_clock_ns) return false;
    return fchmod(file, now.st_mode & 0666) == 0;  // who may read the file may read its index
  });
}

}  // namespace flowtrain
