#pragma once
// Detectors that find an object by its two corners. CornerNet: H. Law and J. Deng, ECCV 2018. CornerNet-Squeeze and
// CornerNet-Saccade: H. Law et al., "CornerNet-Lite", BMVC 2020. Names, shapes and initial distributions are those of
// princeton-vl/CornerNet-Lite, so that its weights load.

#include "nets/entries.h"
#include "nets/layers/module_net.h"

namespace flowtrain::nets {

class CornerNetModule;

/// Each hourglass S = 0, 1 … gives raw maps (h, w: the image's sides over the stride 4, or 8 for cornernet_squeeze):
///   tl_heatS, br_heatS (B, classes, h, w)   logits of top-left and bottom-right corners
///   tl_tagS, br_tagS   (B, 1, h, w)         numbers that agree for the corners of one object
///   tl_offS, br_offS   (B, 2, h, w)         x and y of a corner within its cell, 0..1
/// and with cornernet_saccade attention maps for objects by their size, from J = 0, the large ones:
///   attS_J             (B, 1, h >> (2 - J), w >> (2 - J))   logits
class CornerNet final : public ModuleNet {
 public:
  /// The settings' name is cornernet, cornernet_squeeze or cornernet_saccade. Throws std::invalid_argument for another
  /// name, and for sides that do not work; the message names those that do.
  CornerNet(const Settings& settings, const NetInput& input);

  /// Returns the maps of all hourglasses as f32. The image may have another size than the input's, if its sides work.
  NamedTensors forward(const NamedTensors& batch) override;
  /// Gives the maps of the last hourglass alone, without its number: tl_heat, … br_off, and if `names` has one of them,
  /// att0 to att2. Throws std::invalid_argument for sides that do not work, and for attention that the net lacks.
  NamedTensors outputs(const NamedTensors& batch, const std::vector<std::string>& names) override;
  /// Knows the names above, and those of outputs().
  bool may_give(const std::string& output) const override;

 private:
  explicit CornerNet(std::shared_ptr<CornerNetModule> module);

  std::shared_ptr<CornerNetModule> net_;
};

}  // namespace flowtrain::nets
