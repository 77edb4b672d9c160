#pragma once
// Reads the file of a package: an archive that torch.export.pt2_archive.package_pt2 writes, a zip without compression.

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace flowtrain::nets {

/// Returns the first line of the message of an exception of LibTorch, without its backtrace.
std::string first_line_of(const std::exception& error);

/// The bytes of one file in an archive.
class ArchiveRecord {
 public:
  ArchiveRecord(at::DataPtr data, std::size_t size) : data_(std::move(data)), size_(size) {}
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_.get()), size_}; }

 private:
  at::DataPtr data_;
  std::size_t size_;
};

/// A package that is open. All members throw std::invalid_argument that begins "package PATH: " if a file is missing,
/// of another kind, or damaged: the CRC-32 of every file read is compared with the archive's.
class PackageArchive {
 public:
  explicit PackageArchive(std::string path);
  ~PackageArchive();

  const std::string& path() const { return path_; }
  /// Returns the file of this name. A package of flowtrain has all that are asked for.
  ArchiveRecord read(const std::string& name) const;
  /// Writes the compiled code of a graph into `folder`, which exists; returns the path of its shared object.
  std::filesystem::path extract_code(const std::string& graph, const std::filesystem::path& folder) const;

  /// Makes the error "package PATH: `message`".
  std::invalid_argument error(const std::string& message) const;

 private:
  const std::string path_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
  std::map<std::string, std::uint32_t> checksums_;  // CRC-32 of each file in the archive
};

}  // namespace flowtrain::nets
