#pragma once
// The file of a package: torch's archive as torch.export.pt2_archive.package_pt2 writes it, a zip without compression.

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

/// The first line of what an exception of LibTorch says, without its backtrace.
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

/// A package that is open. All throw std::invalid_argument that begins "package PATH: " for a file that is missing, not
/// of this kind, or damaged: the CRC-32 of what is read is compared with the archive's.
class PackageArchive {
 public:
  explicit PackageArchive(std::string path);
  ~PackageArchive();

  const std::string& path() const { return path_; }
  /// The file of this name in it. One that is not there: it is no package of flowtrain.
  ArchiveRecord read(const std::string& name) const;
  /// Writes the compiled code of a graph into `folder`, which exists; returns the path of its shared object.
  std::filesystem::path extract_code(const std::string& graph, const std::filesystem::path& folder) const;

  /// "package PATH: `message`".
  std::invalid_argument error(const std::string& message) const;

 private:
  const std::string path_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
  std::map<std::string, std::uint32_t> checksums_;  // CRC-32 of each file in it
};

}  // namespace flowtrain::nets
