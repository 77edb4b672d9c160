#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>

#include <stdexcept>

#include "nets/losses/loss.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

class OutputLoss final : public Loss {
 public:
  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors&) const override {
    if (!outputs.contains("loss"))
      throw std::invalid_argument(
          "loss output: the net gives no 'loss'; return a dict with 'loss' from the script's forward");
    const at::Tensor& loss = outputs.at("loss");
    if (loss.numel() != 1)
      throw std::invalid_argument(
          c10::str("loss output: the net's 'loss' has shape ", loss.sizes(), ", expected one number"));
    return {{"loss", loss.reshape({}).to(at::kFloat)}};
  }
};

}  // namespace
#endif

FLOWTRAIN_PARTS(output) {
  parts.losses.add({"output",
                    "the net's own output `loss`, for example of a TorchScript file",
                    {},
                    FLOWTRAIN_MAKE([](const Settings&, const LossInput&) { return std::make_unique<OutputLoss>(); })});
}

}  // namespace flowtrain::nets
