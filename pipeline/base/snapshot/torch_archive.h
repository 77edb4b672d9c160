#pragma once
// What torch.save writes: a pickle, and the bytes of the storages it speaks of. Two containers: a zip archive (torch
// 1.6 and later), or pickles and storages in a row (before that).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pipeline/base/snapshot/pickle.h"

namespace flowtrain {

struct TorchArchive {
  Pickle pickle;
  /// By key; each has the bytes that its elements take.
  std::unordered_map<std::string_view, std::span<const std::byte>> storages;
};

/// Whether a file of torch.save begins so.
bool is_torch_archive(std::span<const std::byte> bytes);

/// Opens a file's bytes, which the archive views. Throws UserError(snapshot) naming `path` and what is wrong; see
/// parse_pickle() and zip_entries(). Numbers must be little-endian.
TorchArchive open_torch_archive(std::span<const std::byte> bytes, const std::string& path);

}  // namespace flowtrain
