#pragma once
// The interface of nets that are compiled together with their loss and backward pass, beside Net.

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
  std::string dtype;                ///< name of the type in torch: "float32", "int64", …
  std::vector<std::int64_t> shape;  ///< rows first; images are (rows, channels, height, width); -n: any up to n
};

/// The way in which a run uses its net.
struct NetUse {
  std::vector<BatchField> fields;      ///< fields of training batches
  std::vector<BatchField> val_fields;  ///< fields of validation batches; empty: there is no validation
  bool short_batches = false;          ///< some have fewer rows than `fields`
  std::int64_t classes = 0;            ///< classes of the data set
  std::string capability;     ///< capability of the device, as packages name it: "AVX512", "sm_90"; empty: not known
  std::string amp;            ///< value of train.amp
  std::string val_amp;        ///< value of val.amp; empty: not given
  bool mixes_labels = false;  ///< [batch_augment] gives batches two labels a row
};

/// A second interface of a Net that is compiled: each of its losses has a graph that gives the loss and its gradients
/// at once. The graph's layers cannot be inspected. Net::forward() is the evaluation graph.
class CompiledNet {
 public:
  virtual ~CompiledNet() = default;
  /// Throws std::invalid_argument if its code cannot be used so.
  virtual void check_use(const NetUse& use) const = 0;
  /// Returns the names of the losses, in the order of export.
  virtual std::vector<std::string> losses() const = 0;
  /// Returns the names of the scalars that the graph of one of losses() gives beside it.
  virtual std::vector<std::string> scalars_of(const std::string& loss) const = 0;
  /// Returns whether the graphs count the terms of a loss or scalar (Step::counts).
  virtual bool counts(const std::string& name) const = 0;
  /// Returns one of losses(), a scalar f32, its scalars and their counts. In train mode its own graph computes it, and
  /// it is differentiable; in eval mode the evaluation graph returns all its outputs.
  virtual NamedTensors loss_of(const std::string& loss, const NamedTensors& batch) = 0;
  /// Sets the factor that the loss will be multiplied by before backward, a scalar f32 on the net's device. It is
  /// called before each loss_of() with train.amp = "fp16".
  virtual void take_loss_scale(const at::Tensor& scale) = 0;
  /// Sets a scalar f32 that stays 1. If backward begins with this very tensor and it reaches the loss unchanged, the
  /// gradients need no factor; no other tensor's value is read from a device.
  virtual void take_unit_gradient(const at::Tensor& one) = 0;
  /// Returns how many rows its batches have; 0: any number.
  virtual std::int64_t rows() const = 0;
};

/// A second interface of a Net that stands before another one and does not change its losses.
class NetInFront {
 public:
  virtual ~NetInFront() = default;
  virtual Net& behind() = 0;
};

/// Returns the net as a compiled one, or the one that it stands before; null if neither is compiled.
inline CompiledNet* compiled_net(Net& net) {
  auto* const front = dynamic_cast<NetInFront*>(&net);
  return front ? compiled_net(front->behind()) : dynamic_cast<CompiledNet*>(&net);
}

/// Returns the key of [net] that names a net in messages: the file for a package.
inline const char* key_of_net(const Settings& net) { return net.has("package") ? "package" : "name"; }

}  // namespace flowtrain::nets
