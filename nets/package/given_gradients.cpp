#include "nets/package/given_gradients.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

namespace flowtrain::nets {

namespace {

using torch::autograd::variable_list;

class GivenGradients final : public torch::autograd::Node {
 public:
  GivenGradients(const NamedTensors& parameters, std::vector<at::Tensor> gradients, GradientFactor factor,
                 std::string what)
      : gradients_(std::move(gradients)), factor_(std::move(factor)), what_(std::move(what)) {
    for (const auto& [name, parameter] : parameters) {
      names_.push_back(name);
      // A frozen parameter, which takes no gradient, has no edge.
      add_next_edge(parameter.requires_grad() ? torch::autograd::impl::gradient_edge(parameter)
                                              : torch::autograd::Edge());
    }
  }

  std::string name() const override { return "CompiledBackward"; }
  void release_variables() override { gradients_.clear(); }

  variable_list apply(variable_list&& incoming) override {
    TORCH_CHECK(!gradients_.empty(), "the gradients of a compiled graph allow one backward pass only");
    variable_list wanted(gradients_.size());
    variable_list scaled;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (task_should_compute_output(i)) scaled.push_back(wanted[i] = std::move(gradients_[i]));
    gradients_.clear();
    const at::Tensor factor = factor_.divisor.defined() ? incoming[0] / factor_.divisor : incoming[0];
    // The factor is nearly always 1. Reading a value that is not on the CPU would wait for the device.
    const bool unchanged = factor.is_same(factor_.one) || (factor.is_cpu() && factor.item<double>() == 1);
    if (!unchanged && !scaled.empty()) at::_foreach_mul_(scaled, factor);
    scaled.clear();  // a gradient that nobody else holds need not be copied
    if (at::hasCallbacks()) report(factor, wanted);
    return wanted;
  }

 private:
  // Reports each gradient as an operation of its own, so that the first one that is not finite has a name.
  void report(const at::Tensor& factor, const variable_list& gradients) const {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const std::string name = "gradient of " + names_[i] + " in " + what_;
      WatchedOperation(name, {factor}).made({gradients[i]});
    }
  }

  std::vector<at::Tensor> gradients_;
  const GradientFactor factor_;
  const std::string what_;
  std::vector<std::string> names_;
};

}  // namespace

at::Tensor with_gradients(const at::Tensor& loss, const NamedTensors& parameters, std::vector<at::Tensor> gradients,
                          const GradientFactor& factor, const std::string& what) {
  // Results may share memory, or be one tensor, because sums of the same values are computed once; each must be changed
  // in place.
  for (at::Tensor& gradient : gradients)
    if (gradient.use_count() > 1 || gradient.storage().use_count() > 1) gradient = gradient.clone();
  const std::shared_ptr<GivenGradients> node(new GivenGradients(parameters, std::move(gradients), factor, what),
                                             torch::autograd::deleteNode);
  at::Tensor given = loss.detach();
  torch::autograd::set_history(given, node);
  return given;
}

WatchedOperation::WatchedOperation(const std::string& name, const std::vector<at::Tensor>& inputs) {
  if (!is_watched()) return;
  const std::vector<c10::IValue> values(inputs.begin(), inputs.end());
  call_.before(name, &values);
}

void WatchedOperation::made(const std::vector<at::Tensor>& outputs) {
  if (is_watched()) call_.setOutputs(std::vector<c10::IValue>(outputs.begin(), outputs.end()));
}

}  // namespace flowtrain::nets
