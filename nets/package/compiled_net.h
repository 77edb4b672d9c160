#pragma once
// What the engine asks of nets that are compiled together with their loss and backward pass, beside Net.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nets/net.h"
#include "nets/tensors.h"
#include "sampling/core/settings.h"

namespace flowtrain::nets {

/// A field of a batch, as nets get it.
struct BatchField {
  std::string name;                 ///< "image", "label", …
  std::string dtype;                ///< as torch names it: "float32", "int64", …
  std::vector<std::int64_t> shape;  ///< rows first; pictures are (rows, channels, height, width)
};

/// What a run does with its net.
struct NetUse {
  std::vector<BatchField> fields;      ///< of batches that are trained with
  std::vector<BatchField> val_fields;  ///< of batches that are validated with; empty: none are
  bool short_batches = false;          ///< some have fewer rows than `fields`
  std::int64_t classes = 0;            ///< of the data set
  std::string capability;              ///< of the device, as packages name it: "AVX512", "sm_90"; empty: not known
  std::string amp;                     ///< train.amp
  std::string val_amp;                 ///< val.amp; empty: not given
  bool mixes_labels = false;           ///< [batch_augment] gives batches two labels a row
};

/// What a Net is, too, if it is compiled: for each of its losses a graph that gives it and its gradients at once. Their
/// layers cannot be looked into. Net::forward() is the evaluation graph.
class CompiledNet {
 public:
  virtual ~CompiledNet() = default;
  /// Throws std::invalid_argument where its code cannot be used so.
  virtual void check_use(const NetUse& use) const = 0;
  /// Names of the losses, in the order in which they were exported.
  virtual std::vector<std::string> losses() const = 0;
  /// Names of the scalars that the graph of one of losses() gives beside it.
  virtual std::vector<std::string> scalars_of(const std::string& loss) const = 0;
  /// One of losses(), a scalar f32, and its scalars. In train mode by its own graph, and differentiable; in eval mode
  /// all that the evaluation graph gives.
  virtual NamedTensors loss_of(const std::string& loss, const NamedTensors& batch) = 0;
  /// With train.amp = "fp16", before each loss_of(): what the loss will be multiplied by before backward, a scalar f32
  /// on the net's device.
  virtual void take_loss_scale(const at::Tensor& scale) = 0;
  /// A scalar f32 that is 1, and stays. Where backward begins with this tensor itself, and it comes to the loss as it
  /// is, the gradients need no factor; a device is not asked for the value of any other tensor.
  virtual void take_unit_gradient(const at::Tensor& one) = 0;
  /// How many rows its batches have; 0: any number.
  virtual std::int64_t rows() const = 0;
};

/// What a Net is, too, if it stands before another one, whose losses it does not change.
class NetInFront {
 public:
  virtual ~NetInFront() = default;
  virtual Net& behind() = 0;
};

/// The net as a compiled one, or the one that it stands before; null: neither is.
inline CompiledNet* compiled_net(Net& net) {
  auto* const front = dynamic_cast<NetInFront*>(&net);
  return front ? compiled_net(front->behind()) : dynamic_cast<CompiledNet*>(&net);
}

/// The key of [net] that a net is named by, for messages: of a package its file.
inline const char* key_of_net(const Settings& net) { return net.has("package") ? "package" : "name"; }

}  // namespace flowtrain::nets
