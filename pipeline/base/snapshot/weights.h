#pragma once
// Matching the tensors of a weights file with those that a net wants, by name.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

struct WantedTensor {
  std::string name;
  std::string dtype;  ///< as TensorView's
  std::vector<std::int64_t> shape;
};

/// The result of a match. Strict loading requires that the last three members are empty.
struct WeightMatch {
  struct Pair {
    std::size_t wanted;  ///< index into the wanted tensors
    TensorView source;   ///< its dtype may be another floating-point one than wanted: convert
  };
  std::vector<Pair> matched;            ///< in the order wanted
  std::vector<std::string> missing;     ///< names wanted that the file does not have
  std::vector<std::string> unexpected;  ///< names of the file that are not wanted
  std::vector<std::string> misshapen;   ///< "fc.weight: F32 (10, 4) in the file, F32 (10, 5) wanted"
};

/// The name that a tensor has in the net itself: without the "module." of DataParallel at its start, and without what
/// torch.compile, FSDP and checkpointing of activations put between the names of modules ("_orig_mod.").
std::string unwrapped_name(std::string_view name);
/// Gives all tensors their unwrapped names, if every name is wrapped and they stay different.
void unwrap_names(std::vector<TensorView>& tensors);

/// A beginning that the names in a file have and the net's have not, or the other way round.
struct NamePrefix {
  std::string text;     ///< "model."
  bool of_file = true;  ///< false: the net's names have it
  std::size_t fit = 0;  ///< tensors whose names are in both, once it is taken off
};
/// The prefix with which most names fit; one with `fit` 0 where there is none.
NamePrefix name_prefix(std::span<const TensorView> file, std::span<const WantedTensor> wanted);

/// Names match as they are, or else as their unwrapped names. Shapes must be equal, and so must dtypes unless both are
/// floating-point. Batch norm's num_batches_tracked may be missing.
WeightMatch match_weights(std::span<const TensorView> file, std::span<const WantedTensor> wanted);

}  // namespace flowtrain
