#pragma once
// Zip archives (PKWARE's APPNOTE.TXT 6.3.10), as NumPy (.npz) and torch.save write them: finds each file's bytes by the
// directory at the archive's end. Files are stored as they are or deflated; archives beyond 4 GiB (Zip64) are read,
// encrypted ones and those of several volumes are not.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

/// A file of an archive.
struct ZippedFile {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;      ///< CRC-32 of its bytes
  std::uint64_t packed_bytes = 0;  ///< bytes that it takes in the archive
  std::uint64_t size_bytes = 0;    ///< bytes of the file
  std::uint64_t name_offset = 0;   ///< place of its name in the archive
  std::uint64_t data_offset = 0;   ///< place of the packed bytes in the archive
};

/// The differences between archives of different writers.
struct ZipRules {
  ExitCode code = ExitCode::data;  ///< code of the errors
  bool stored_only = false;        ///< refuses compressed files
  std::string writer_hint =
      "write the archive with numpy.savez or numpy.savez_compressed";  ///< way out for compressed files
};

/// Lists the files of an archive, without folders, in the order of its directory. Checksums are not compared. Throws
/// UserError(rules.code) that begins with `path` for one that is damaged, no zip, encrypted, or packed by another
/// method, for files that share bytes, and for a name that comes twice.
std::vector<ZippedFile> scan_zip(const ByteSource& file, const std::string& path, const ZipRules& rules = {});

/// Reads a deflated file and checks its checksum. Throws UserError(data) that begins with "<path>:<name>" if it is
/// damaged.
std::vector<std::byte> inflate_entry(const ByteSource& file, const ZippedFile& entry, const std::string& path);

}  // namespace flowtrain
