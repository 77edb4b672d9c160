#pragma once
// Reads the files of torch.save: a pickle, and the bytes of its storages. There are two containers: a zip archive
// (torch 1.6 and later), or pickles and storages in a row (earlier ones).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pipeline/base/snapshot/pickle.h"

namespace flowtrain {

struct TorchArchive {
  Pickle pickle;
  /// The bytes of each storage, by key.
  std::unordered_map<std::string_view, std::span<const std::byte>> storages;
};

/// Returns whether the bytes begin like a file of torch.save.
bool is_torch_archive(std::span<const std::byte> bytes);

/// Opens a file's bytes, which the archive views. Throws UserError(snapshot) with `path` and the reason; see
/// parse_pickle() and scan_zip(). Numbers must be little-endian.
TorchArchive open_torch_archive(std::span<const std::byte> bytes, const std::string& path);

}  // namespace flowtrain
