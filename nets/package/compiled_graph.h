#pragma once
// One compiled graph of a package, made by AOTInductor: a shared object with a C interface.

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

/// A graph that is loaded for one device. One thread at a time.
class CompiledGraph {
 public:
  /// `name`: "train" or "eval". Throws std::invalid_argument if the code is damaged or cannot be loaded, UserError
  /// (usage) if there is no space for it.
  CompiledGraph(const PackageArchive& archive, const std::string& name, at::Device device);
  ~CompiledGraph();

  /// Makes the graph read these tensors in place, and write buffers to them. Other names are ignored. Throws
  /// std::invalid_argument if a tensor that it needs is missing.
  void bind(const NamedTensors& tensors);
  /// Computes the results; bind() comes first. `inputs` must be contiguous in row-major order. Random draws come from
  /// torch's default generators. It makes no gradients and uses no autocast. Throws std::runtime_error if the code
  /// fails, OutOfMemory if the host has no memory left, c10::OutOfMemoryError if a GPU has none.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

 private:
  const std::string what_;  // messages name it
  const at::Device device_;
  const TemporaryFolder folder_{"code", ExitCode::usage};  // a GPU loads its code when a kernel first runs
  std::unique_ptr<torch::inductor::AOTIModelContainerRunner> runner_;
  std::unordered_map<std::string, at::Tensor> bound_;  // the code keeps addresses of these
};

}  // namespace flowtrain::nets
