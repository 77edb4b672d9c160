#pragma once
// A file of weights from another program: safetensors, or a file of torch.save (.pth, .pt, .pkl).

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// The choice between several dicts of tensors in a file of torch.save.
struct WeightsChoice {
  std::string place = {};  ///< keys that lead to it, "ema.module"; "." is the file's own dict; "": the best fit
  /// Rates the tensors of a dict, which have no data yet; null: their number counts.
  std::function<std::size_t(std::span<const TensorView>)> fit = {};
  std::string setting = "net.pretrain_key = ";  ///< text before `place` in messages: the setting
};

/// The tensors of a file of torch.save.
struct TorchWeights {
  std::vector<TensorView> tensors;  ///< ordered as in the file; views into the parsed bytes, or into `copies`
  std::vector<std::vector<std::byte>> copies;  ///< copies of tensors that do not lie row by row in the file
  std::string place = ".";                     ///< keys that lead to their dict
};

/// Reads a state_dict from a file's bytes: the chosen one of its dicts of tensors, at most eight levels deep. Values
/// that are not tensors are left out; names are unwrapped (weights.h). No code in the file is executed. Throws
/// UserError(snapshot) with `path` and the tensor: no state_dict, several that fit equally well, windows beyond their
/// storage, more than 2^16 tensors, copies of more bytes than the file has; see open_torch_archive().
TorchWeights parse_torch_weights(std::span<const std::byte> bytes, const std::string& path,
                                 const WeightsChoice& choice = {});

/// A file of weights mapped into memory, or the files that an index names (`model.safetensors.index.json` of
/// transformers); the first bytes show the kind. Views live as long as it does.
class WeightsFile {
 public:
  /// Throws UserError(snapshot) like parse_safetensors() and parse_torch_weights(), for files of other kinds, which it
  /// names (a web page, a pointer of Git LFS), and for an index whose files are not beside it, or have other tensors.
  explicit WeightsFile(const std::filesystem::path& path, const WeightsChoice& choice = {});

  const std::vector<TensorView>& tensors() const { return weights_.tensors; }
  /// Returns the keys that lead to their dict; ".": it is the file's own.
  const std::string& place() const { return weights_.place; }

 private:
  void read_index(const std::filesystem::path& path, const WeightsChoice& choice);

  std::vector<MappedFile> maps_;
  TorchWeights weights_;
};

}  // namespace flowtrain
