#pragma once
// Matches the tensors of a weights file with those of a net, by name.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

struct WantedTensor {
  std::string name;
  std::string dtype;  ///< spelled as in TensorView
  std::vector<std::int64_t> shape;
};

/// The result of a match. Strict loading requires that the last three members are empty.
struct WeightMatch {
  struct Pair {
    std::size_t wanted;  ///< index into the wanted tensors
    TensorView source;   ///< may have another floating-point type than wanted, and needs conversion
  };
  std::vector<Pair> matched;         ///< ordered as the wanted tensors
  std::vector<std::string> missing;  ///< wanted names that the file does not have
  /// Names of the file that the net does not have, without causal masks that are stored as buffers (`attn.bias` of
  /// GPT-2), and without matrices that repeat a matched one bit by bit (`lm_head.weight`, tied to the embedding).
  std::vector<std::string> unexpected;
  std::vector<std::string> misshapen;  ///< "fc.weight: F32 (10, 4) in the file, F32 (10, 5) wanted"
};

/// Returns the name of a tensor in the net itself: without the "module." of DataParallel at its start, and without the
/// "_orig_mod." and similar parts that torch.compile, FSDP and checkpointing of activations put between modules.
std::string unwrapped_name(std::string_view name);
/// Gives all tensors their unwrapped names, if every name is wrapped and they stay different.
void unwrap_names(std::vector<TensorView>& tensors);

/// A prefix of the file's names that the net's names lack, or the other way round.
struct NamePrefix {
  std::string text;               ///< "model."
  bool of_file = true;            ///< false: the net's names have it
  std::size_t fit = 0;            ///< number of tensors whose names match without it
  std::string fits_as_well = {};  ///< another prefix with which as many fit; empty: there is none

  /// Returns the rule of net.pretrain_rename that adds or removes it: "^model\. -> ".
  std::string rule() const;
};
/// Returns the prefix with which most names fit; its `fit` is 0 if there is none.
NamePrefix name_prefix(std::span<const TensorView> file, std::span<const WantedTensor> wanted);

/// Adds or removes the prefix with which the file has all names of the net, if it has none of them without. Throws
/// UserError(usage) if it has them with two.
void fit_prefix(std::vector<TensorView>& file, std::span<const WantedTensor> wanted);

/// Matches names as they are, or else unwrapped. Shapes must be equal, and so must dtypes unless both are
/// floating-point. Batch norm's num_batches_tracked may be missing.
WeightMatch match_weights(std::span<const TensorView> file, std::span<const WantedTensor> wanted);

}  // namespace flowtrain
