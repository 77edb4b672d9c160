#pragma once
// A net as TorchScript, which Python and C++ programs run without flowtrain. This header needs no torch.

#include <cstdint>
#include <string>
#include <vector>

#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Values of a tensor, f32, row by row.
struct PlainTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// A traced net, with the data of its comparison.
struct TorchScript {
  std::string bytes;                 ///< content of the file that torch.jit.load() reads
  double greatest_difference = 0;    ///< between its outputs and the net's
  PlainTensor image;                 ///< input pictures, (B, C, H, W), as the net gets them
  std::vector<PlainTensor> outputs;  ///< outputs of the net
};

/// Traces the forward pass of the spec's net with the weights `model`, in eval mode on the CPU. Loads the result again,
/// and compares both on all pictures of `slab`, a validation batch in the layout spec.data.train_layout, and on the
/// first one alone. The module's forward takes `image`, f32 (B, C, H, W), of any B (H and W stay); it returns the net's
/// one output, or a tuple of them, whose names are the lines of the extra file outputs.txt. `facts` is JSON that the
/// file keeps as well: torch.jit.load() gives it as _extra_files["flowtrain.json"]. Throws UserError: usage for a net
/// that is a script or a package, snapshot if `model` belongs to another net.
TorchScript trace_net(const LearnerSpec& spec, const std::vector<StateTensor>& model, Slab& slab,
                      const std::string& facts);

}  // namespace flowtrain
