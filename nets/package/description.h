#pragma once
// The description of a package: its flowtrain.json, which the Python package (flowtrain.export) writes.

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
    count,    ///< number of terms, f32, that a loss or metric is the mean of; its name is count_of() that one's
    output,   ///< output for metrics and predictions
    gradient  ///< gradient of the parameter `of`
  };
  std::string name;
  Kind kind;
  std::string of;  ///< parameter of a gradient; else empty
};

/// An input of the graphs.
struct PackageInput {
  /// A range in one of the field's dimensions: from `begin` to before `end`.
  struct Cut {
    std::int64_t dimension = 0, begin = 0;
    std::int64_t end = 0;  ///< along a free axis 0 or less: counted from its end
  };
  /// The range of integers that are indices: from `least` to before `end`, or `ignored`.
  struct Values {
    std::int64_t least = 0, end = 0;
    std::optional<std::int64_t> ignored;
    std::vector<Cut> part;  ///< part of the field to which the range applies; empty: all of it
  };
  /// An axis whose extent differs between batches.
  struct FreeAxis {
    std::size_t axis = 0;
    std::int64_t least = 1, most = 1;  ///< bounds of its extent
    std::size_t extent = 0;            ///< number of its extent: axes with one number are equally long in a batch
  };
  BatchField field;            ///< the field; -1 for sizes that may be any
  std::vector<FreeAxis> free;  ///< the free axes, whose size is -1
  std::vector<Values> values;  ///< allowed values; others end the process; empty: any are allowed
  std::int64_t rows = 0;       ///< inputs with the same number here have equal numbers of rows
  bool channels_last = false;  ///< the layout in memory is (rows, height, width, channels), like a GPU's images
};

/// One of the compiled graphs. Its names are those of weights.safetensors.
struct PackageGraph {
  std::string name;  ///< name of its code: "train_loss", …, "eval"
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  std::vector<std::string> changed;    ///< the buffers that it writes to
  std::vector<std::string> constants;  ///< tensors that it reads, and that are neither learned nor state
  std::vector<std::string> counters;   ///< integer buffers to which each step adds 1; the graph does not
  std::vector<PackageOutput> outputs;  ///< outputs in the order in which it returns them

  /// Returns the output of kind loss of a training graph.
  const PackageOutput& loss() const;
};

/// The contents of flowtrain.json.
struct PackageDescription {
  std::string torch;            ///< the version that compiled it
  std::string device;           ///< "cpu" or "cuda"
  std::string instruction_set;  ///< set that the code needs, as at::get_cpu_capability() names it; "sm_90" for cuda
  std::string amp;              ///< "off", "bf16" or "fp16", like train.amp
  std::string command;          ///< command that makes the package anew
  std::vector<PackageInput> inputs;  ///< inputs in the order of the graphs' arguments
  std::vector<PackageGraph> train;   ///< one for each loss, which is its one output of kind loss
  PackageGraph eval;                 ///< gives all of these losses
};

/// Throws std::invalid_argument if the description is damaged or has another version.
PackageDescription read_description(const PackageArchive& archive);

/// Returns the hint for all mistakes that a new package fixes.
std::string make_anew(const PackageDescription& description);

}  // namespace flowtrain::nets
