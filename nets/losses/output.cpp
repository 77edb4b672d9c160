#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>

#include <stdexcept>
#include <utility>

#include "nets/losses/loss.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

class OutputLoss final : public Loss {
 public:
  explicit OutputLoss(std::string count) : count_(std::move(count)) {}

  bool counts() const override { return !count_.empty(); }

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors&) const override {
    if (!outputs.contains("loss"))
      throw std::invalid_argument(
          "loss output: the net gives no 'loss'; return a dict with 'loss' from the script's forward");
    const at::Tensor& loss = outputs.at("loss");
    if (loss.numel() != 1)
      throw std::invalid_argument(
          c10::str("loss output: the net's 'loss' has shape ", loss.sizes(), ", expected one number"));
    const at::Tensor value = loss.reshape({}).to(at::kFloat);
    if (!counts()) return {{"loss", value}};
    const at::Tensor& count = outputs.at(count_);
    if (count.numel() != 1)
      throw std::invalid_argument(
          c10::str("loss output: the net's '", count_, "' has shape ", count.sizes(), ", expected one number"));
    const at::Tensor terms = count.detach().reshape({});
    return {{"loss", mean_of(value, terms)}, {"count", terms}};
  }

 private:
  const std::string count_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(output) {
  parts.losses.add({"output",
                    "the net's own output `loss`, for example of a TorchScript file",
                    {{"count", Kind::text, std::string(),
                      "output of the net with the number of terms that its `loss` is then the sum of; empty: `loss` is "
                      "a mean over rows"}},
                    FLOWTRAIN_MAKE([](const Settings& settings, const LossInput&) {
                      return std::make_unique<OutputLoss>(settings.text("count"));
                    })});
}

}  // namespace flowtrain::nets
