#pragma once
// A file of weights from another program: safetensors, or what torch.save wrote (.pth, .pt, .pkl).

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// How one of several dicts of tensors in a file of torch.save is chosen.
struct WeightsChoice {
  std::string place = {};  ///< the keys that lead to it, "ema.module"; "." is the file's own dict; "": the best fit
  /// How well the tensors of a dict fit, which have no data yet; null: their number.
  std::function<std::size_t(std::span<const TensorView>)> fit = {};
  std::string setting = "net.pretrain_key = ";  ///< what sets `place`, as it is written before it, for messages
};

/// The tensors of a file of torch.save.
struct TorchWeights {
  std::vector<TensorView> tensors;             ///< in the file's order; views into the bytes parsed, or into `copies`
  std::vector<std::vector<std::byte>> copies;  ///< of tensors that do not lie row by row in the file
  std::string place = ".";                     ///< the keys that lead to their dict
};

/// Reads a state_dict from a file's bytes: of the dicts of tensors in it, at most eight levels deep, the chosen one.
/// Values that are no tensors are left out; names are unwrapped (weights.h). Nothing in the file is executed. Throws
/// UserError(snapshot) naming `path` and the tensor: no state_dict, several that fit equally well, windows that reach
/// beyond their storage, more than 2^16 tensors, copies of more bytes than the file has; see open_torch_archive().
TorchWeights parse_torch_weights(std::span<const std::byte> bytes, const std::string& path,
                                 const WeightsChoice& choice = {});

/// A file of weights mapped into memory, its kind told by its first bytes; views live as long as it does.
class WeightsFile {
 public:
  /// Throws UserError(snapshot) as parse_safetensors() and parse_torch_weights() do, and for files of other kinds,
  /// which it names: a web page, a pointer of Git LFS, an index of several files.
  explicit WeightsFile(const std::filesystem::path& path, const WeightsChoice& choice = {});

  const std::vector<TensorView>& tensors() const { return weights_.tensors; }
  /// The keys that lead to their dict; ".": it is the file's own.
  const std::string& place() const { return weights_.place; }

 private:
  MappedFile map_;
  TorchWeights weights_;
};

}  // namespace flowtrain
