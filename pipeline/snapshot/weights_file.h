#pragma once
// A file of weights from another program: safetensors, or what torch.save wrote (.pth, .pt, .pkl).

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipeline/snapshot/file.h"
#include "pipeline/snapshot/safetensors.h"

namespace flowtrain {

/// The tensors of a file of torch.save.
struct TorchWeights {
  std::vector<TensorView> tensors;             ///< in the file's order; views into the bytes parsed, or into `copies`
  std::vector<std::vector<std::byte>> copies;  ///< of tensors that do not lie row by row in the file
};

/// Reads a state_dict from a file's bytes: the dict itself, or the one under "state_dict" or "model" in it. Values that
/// are no tensors are left out; a "module." before every name, as DataParallel writes it, is taken off. Nothing in the
/// file is executed. Throws UserError(snapshot) naming `path` and the tensor: no state_dict, windows that reach beyond
/// their storage, more than 2^16 tensors, copies of more bytes than the file has; see open_torch_archive().
TorchWeights parse_torch_weights(std::span<const std::byte> bytes, const std::string& path);

/// A file of weights mapped into memory, its kind told by its first bytes; views live as long as it does.
class WeightsFile {
 public:
  /// Throws UserError(snapshot) as parse_safetensors() and parse_torch_weights() do.
  explicit WeightsFile(const std::filesystem::path& path);

  const std::vector<TensorView>& tensors() const { return weights_.tensors; }

 private:
  MappedFile map_;
  TorchWeights weights_;
};

}  // namespace flowtrain
