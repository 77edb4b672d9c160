#pragma once
// Tar archives: finds each file's bytes without unpacking, and writes headers.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// A regular file of an archive.
struct TarEntry {
  std::string_view name;  ///< relative name, without empty and "." parts; valid during the call
  std::uint64_t offset;   ///< offset of its bytes in the archive
  std::uint64_t size_bytes;
};

/// Calls `found` for each regular file of the archive, in the archive's order; reads headers only. It knows the formats
/// v7, ustar (POSIX.1-1988), GNU's long names and base-256 sizes, and pax (POSIX.1-2001) `path`, `linkpath` and `size`;
/// global pax headers are ignored. The files are those of the unpacked archive: a leading "/" is removed from names,
/// and a hard or symbolic link is the file that it leads to, or all files below a folder that it leads to. Links that
/// lead out of the archive or nowhere, and names with "..", are left out; one warning counts and names them. Devices
/// are skipped. `found_folder` (may be null) gets the name of each folder that has an entry of its own. The headers of
/// an archive with links are read twice. Throws UserError(data) naming `path` and the byte offset if it is damaged,
/// truncated (also without its end mark), sparse or no tar, and for links that lead in circles.
void scan_tar(const ByteSource& file, const std::string& path, const std::function<void(const TarEntry&)>& found,
              const std::function<void(std::string_view)>& found_folder = nullptr);

/// The size of a block. Archives consist of a header, the file's bytes padded with zeros to whole blocks, and so on;
/// two blocks of zeros end them.
inline constexpr std::uint64_t tar_block_bytes = 512;

/// Makes the header of a regular file (ustar) with owner and time 0, so that equal files make equal archives. `name`
/// has at most 100 bytes, the file less than 8 GiB; more is a bug.
std::array<char, tar_block_bytes> tar_header(std::string_view name, std::uint64_t size_bytes);

}  // namespace flowtrain
