#pragma once
// Zip archives (PKWARE's APPNOTE.TXT) whose entries are stored as they are: where each one's bytes lie.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// An entry of an archive; views into the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> data;
};

/// The entries of an archive, in the order of their bytes; zip64 is known. Checksums are not looked at, as torch can be
/// told to leave them out. Throws UserError(snapshot) naming `path` and the entry: a compressed or encrypted one, one
/// that lies outside the archive or over another, a name that comes twice or leads out of a folder, damage.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> archive, const std::string& path);

}  // namespace flowtrain
