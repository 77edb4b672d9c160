#pragma once
// What a package says of itself: its flowtrain.json, as the Python package (flowtrain.export) writes it.

#include <cstdint>
#include <string>
#include <vector>

#include "nets/package/archive.h"
#include "nets/package/compiled_net.h"

namespace flowtrain::nets {

/// One of the tensors that a compiled graph returns.
struct PackageOutput {
  enum class Kind {
    loss,     ///< the scalar to lower, f32
    metric,   ///< another scalar to report, f32
    output,   ///< for metrics and predictions
    gradient  ///< of the parameter `of`
  };
  std::string name;
  Kind kind;
  std::string of;                   ///< gradient; else empty
  std::vector<std::int64_t> shape;  ///< output: -1 for sizes that follow from the number of rows; else empty
};

/// One of the two compiled graphs. The names are those of weights.safetensors.
struct PackageGraph {
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  std::vector<std::string> changed;    ///< those of the buffers that it writes to
  std::vector<std::string> constants;  ///< tensors that it reads, and that are neither learned nor state
  std::vector<PackageOutput> outputs;  ///< in the order in which it returns them; one has kind loss
};

/// flowtrain.json.
struct PackageDescription {
  std::string torch;            ///< the version that has compiled it
  std::string device;           ///< "cpu" or "cuda"
  std::string instruction_set;  ///< that the code needs, as at::get_cpu_capability() names it; of cuda "sm_90"
  std::string amp;              ///< "off", "bf16" or "fp16", as train.amp has it
  std::string command;          ///< makes the package anew
  /// In the order of the graphs' arguments: fields of the batch, -1 for sizes that may be any.
  std::vector<BatchField> inputs;
  PackageGraph train, eval;
  std::vector<std::string> counters;  ///< integer buffers to which each step adds 1; the graph does not
};

/// Throws std::invalid_argument where the description is damaged or of another version.
PackageDescription read_description(const PackageArchive& archive);

/// Throws Mistake, whose hint is the package's command, where this LibTorch cannot run its code.
void check_version(const PackageDescription& description, const PackageArchive& archive);

/// The same for the machine: `capability` is what at::get_cpu_capability() gives, or of a CUDA device "sm_90".
void check_machine(const PackageDescription& description, const std::string& capability, const PackageArchive& archive);

/// The hint of all mistakes that a new package mends.
std::string make_anew(const PackageDescription& description);

/// Throws std::invalid_argument where a batch of these fields lacks one of the inputs, or has it in another type or
/// shape.
void check_inputs(const PackageDescription& description, const std::vector<BatchField>& batch,
                  const PackageArchive& archive);

}  // namespace flowtrain::nets
