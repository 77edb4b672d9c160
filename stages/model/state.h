#pragma once
// A learner's tensors as bytes, on their way to and from snapshots.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flowtrain {

/// A named tensor as bytes, on the host.
struct StateTensor {
  std::string name;
  std::string dtype;  ///< safetensors' spelling: "F32", "I64", …
  std::vector<std::int64_t> shape;
  bool parameter = false;  ///< learned by gradients, unlike running statistics and optimizer state
  std::vector<std::byte> bytes;
  /// Strides in elements of a tensor that was copied as it lay in memory; empty: row-major.
  std::vector<std::int64_t> strides = {};
};

/// The tensors that a snapshot keeps.
struct LearnerState {
  std::vector<StateTensor> model;  ///< parameters and buffers, with the names of the reference implementation
  std::vector<StateTensor> optim;

  /// Waits for bytes that are still on their way from a device and fills them in; empty otherwise.
  std::function<void(LearnerState&)> arrive = {};

  /// Makes a copied state readable: its bytes have arrived, in row-major order. Copying state as it lies in memory
  /// costs the training thread a memcpy; the rest is done here, where there is time.
  void settle();
};

}  // namespace flowtrain
