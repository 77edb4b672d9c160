#pragma once
// Matching the tensors of a weights file with those that a net wants, by name.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/snapshot/safetensors.h"

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

/// Names match as they are or, where DistributedDataParallel saved the file, without a "module." at their start.
/// Shapes must be equal, and so must dtypes unless both are floating-point. Batch norm's num_batches_tracked may be
/// missing.
WeightMatch match_weights(std::span<const TensorView> file, std::span<const WantedTensor> wanted);

}  // namespace flowtrain
