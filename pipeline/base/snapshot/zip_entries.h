#pragma once
// Finds the bytes of each entry in zip archives (PKWARE's APPNOTE.TXT) whose entries are stored uncompressed.

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

/// Returns the entries of an archive, in the order of their bytes; zip64 is supported. Checksums are ignored, as torch
/// can be told to leave them out. Throws UserError(snapshot) with `path` and the entry: a compressed or encrypted one,
/// one that lies outside the archive or over another, a name that comes twice or leads out of a folder, damage.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> archive, const std::string& path);

}  // namespace flowtrain
