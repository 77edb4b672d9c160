#pragma once
// Tar archives: where each file's bytes lie, without unpacking; and how they are written.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// A regular file of an archive.
struct TarEntry {
  std::string_view name;  ///< relative, without a leading "./"; lasts during the call
  std::uint64_t offset;   ///< of its bytes in the archive
  std::uint64_t size_bytes;
};

/// Calls `found` for each regular file of the archive, in the archive's order; reads headers only. Knows the formats
/// v7, ustar (POSIX.1-1988), GNU's long names and base-256 sizes, and pax (POSIX.1-2001) `path` and `size`; global pax
/// headers are ignored. Folders, links and devices are skipped, as are absolute names and those with "..".
/// Throws UserError(data) naming `path` and the byte offset for what is damaged, truncated (an archive without its end
/// mark, too), sparse, or no tar at all.
void scan_tar(const ByteSource& file, const std::string& path, const std::function<void(const TarEntry&)>& found);

/// Archives are made of blocks: a header, the file's bytes padded with zeros to whole blocks, and so on; at the end two
/// blocks of zeros.
inline constexpr std::uint64_t tar_block_bytes = 512;

/// The header of a regular file (ustar): owner and time 0, so that equal files make equal archives. `name` has at most
/// 100 bytes, the file less than 8 GiB: beyond is a bug.
std::array<char, tar_block_bytes> tar_header(std::string_view name, std::uint64_t size_bytes);

}  // namespace flowtrain
