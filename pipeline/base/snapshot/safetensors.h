#pragma once
// Files of safetensors.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/snapshot/file.h"
#include "sampling/core/safetensors.h"

namespace flowtrain {

/// The result of write_safetensors().
struct WrittenSafetensors {
  std::uint64_t bytes = 0;
  std::string xxh64;                                              ///< hash of the whole file
  std::vector<std::pair<std::string, std::string>> tensor_xxh64;  ///< name and hash of each tensor's bytes
};

/// Writes the tensors in the given order to `file`, which is neither synced nor closed. Data begins at a multiple of
/// 64 bytes. Throws system_error(); InternalError for views that make no valid file (duplicate names, wrong sizes).
WrittenSafetensors write_safetensors(File& file, std::span<const TensorView> tensors,
                                     const SafetensorsMetadata& metadata = {});

/// A safetensors file mapped into memory; its views live as long as it does.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<TensorView>& tensors() const { return content_.tensors; }
  const SafetensorsMetadata& metadata() const { return content_.metadata; }

 private:
  MappedFile map_;
  SafetensorsContent content_;
};

}  // namespace flowtrain
