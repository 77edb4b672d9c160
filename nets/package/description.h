#pragma once
// What a package says of itself: its flowtrain.json, as the Python package (flowtrain.export) writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nets/package/archive.h"
#include "nets/package/compiled_net.h"

namespace flowtrain::nets {

/// One of the tensors that a compiled graph returns.
struct PackageOutput {
  enum class Kind {
    loss,     ///< a scalar to lower, f32
    metric,   ///< another scalar to report, f32
    output,   ///< for metrics and predictions
    gradient  ///< of the parameter `of`
  };
  std::string name;
  Kind kind;
  std::string of;  ///< gradient; else empty
};

/// What the graphs take.
struct PackageInput {
  /// Of one of the field's dimensions: from `begin` to before `end`.
  struct Cut {
    std::int64_t dimension = 0, begin = 0, end = 0;
  };
  /// Whole numbers that are indices: from `least` to before `end`, or `ignored`.
  struct Values {
    std::int64_t least = 0, end = 0;
    std::optional<std::int64_t> ignored;
    std::vector<Cut> part;  ///< of the field, which has no others; empty: all of it
  };
  BatchField field;            ///< -1 for sizes that may be any
  std::vector<Values> values;  ///< others end the process; empty: any are taken
  bool channels_last = false;  ///< how it lies in memory: (rows, height, width, channels), as a GPU's pictures do
};

/// One of the compiled graphs. The names are those of weights.safetensors.
struct PackageGraph {
  std::string name;  ///< of its code: "train_loss", …, "eval"
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  std::vector<std::string> changed;    ///< those of the buffers that it writes to
  std::vector<std::string> constants;  ///< tensors that it reads, and that are neither learned nor state
  std::vector<std::string> counters;   ///< integer buffers to which each step adds 1; the graph does not
  std::vector<PackageOutput> outputs;  ///< in the order in which it returns them

  /// The output of kind loss of a training graph.
  const PackageOutput& loss() const;
};

/// flowtrain.json.
struct PackageDescription {
  std::string torch;                 ///< the version that has compiled it
  std::string device;                ///< "cpu" or "cuda"
  std::string instruction_set;       ///< that the code needs, as at::get_cpu_capability() names it; of cuda "sm_90"
  std::string amp;                   ///< "off", "bf16" or "fp16", as train.amp has it
  std::string command;               ///< makes the package anew
  std::vector<PackageInput> inputs;  ///< in the order of the graphs' arguments
  std::vector<PackageGraph> train;   ///< one for each loss, which is its one output of kind loss
  PackageGraph eval;                 ///< gives all of these losses
};

/// Throws std::invalid_argument where the description is damaged or of another version.
PackageDescription read_description(const PackageArchive& archive);

/// The hint of all mistakes that a new package mends.
std::string make_anew(const PackageDescription& description);

}  // namespace flowtrain::nets
