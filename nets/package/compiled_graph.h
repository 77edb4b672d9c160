#pragma once
// One compiled graph of a package, as AOTInductor has made it: a shared object with a C interface.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "nets/package/archive.h"
#include "nets/tensors.h"
#include "sampling/core/temporary_folder.h"

namespace torch::inductor {
class AOTIModelContainerRunner;
}

namespace flowtrain::nets {

/// A graph, loaded for one device. One thread at a time.
class CompiledGraph {
 public:
  /// `name`: "train" or "eval". Throws std::invalid_argument where the code is damaged or cannot be loaded, UserError
  /// (usage) where there is no place for it.
  CompiledGraph(const PackageArchive& archive, const std::string& name, at::Device device);
  ~CompiledGraph();

  /// From now on it reads these tensors where they lie, and writes buffers there. Other names are ignored. Throws
  /// std::invalid_argument for a tensor that it needs and that is not among them.
  void bind(const NamedTensors& tensors);
  /// After bind(): its results. `inputs` must lie in one piece, row by row. What it draws comes from torch's default
  /// generators. Without gradients, and without autocast: that is in the code. Throws std::runtime_error where the code
  /// fails, OutOfMemory where the host has no memory left, c10::OutOfMemoryError where a GPU has none.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

 private:
  const std::string what_;  // for messages
  const at::Device device_;
  const TemporaryFolder folder_{"code", ExitCode::usage};  // of a GPU's code, which is loaded when a kernel first runs
  std::unique_ptr<torch::inductor::AOTIModelContainerRunner> runner_;
  std::unordered_map<std::string, at::Tensor> bound_;  // the code keeps addresses of these
};

}  // namespace flowtrain::nets
