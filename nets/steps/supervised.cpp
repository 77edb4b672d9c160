#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <stdexcept>

#include "nets/reports.h"
#include "nets/steps/make.h"
#include "sampling/core/mistake.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Runs the net's forward, then the loss. A mistake of either is reported at the key that names it.
class SupervisedStep final : public Step {
 public:
  explicit SupervisedStep(const StepInput& input)
      : net_settings_(input.net_settings), loss_settings_(input.loss_settings), net_(input.net) {
    loss_ = rethrow_at_key(loss_settings_, "name", [&] { return make_loss(loss_settings_, {input.classes}); });
    if (const auto* reports = dynamic_cast<const Reports*>(&net_)) net_scalars_ = reports->scalars();
  }

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override {
    std::vector<std::string> names;
    for (auto& part : loss_->scalars()) names.push_back(part_of_loss + part);
    for (auto& scalar : net_scalars_) names.push_back(scalar);
    return names;
  }

  bool counts(const std::string& name) const override { return name == "loss" && loss_->counts(); }

  NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>&) override {
    const NamedTensors outputs = run_net(batch);
    NamedTensors scalars = losses_of(outputs, batch);
    rethrow_at_key(net_settings_, "name", [&] { add_scalars(outputs, scalars); });
    return scalars;
  }

  Evaluated evaluate(const NamedTensors& batch) override {
    NamedTensors outputs = run_net(batch);
    const NamedTensors losses = losses_of(outputs, batch);
    return {std::move(outputs), losses.at("loss"), loss_->counts() ? losses.at(count_of("loss")) : at::Tensor()};
  }
  NamedTensors predict(const NamedTensors& batch) override { return run_net(batch); }

 private:
  // A script's forward is the user's code, so its errors are the user's.
  NamedTensors run_net(const NamedTensors& batch) {
    RECORD_USER_SCOPE("net");
    return rethrow_at_key(net_settings_, "name", [&] { return net_.forward(batch); });
  }

  // Outputs and batch fit each other only if net, loss and sampler were chosen so.
  NamedTensors losses_of(const NamedTensors& outputs, const NamedTensors& batch) {
    RECORD_USER_SCOPE("loss");
    const auto made = rethrow_at_key(loss_settings_, "name", [&] { return (*loss_)(outputs, batch); });
    NamedTensors losses;
    for (const auto& [name, value] : made) losses.add(name == "loss" ? name : part_of_loss + name, value);
    return losses;
  }

  // Adds the scalars that the net itself reports.
  void add_scalars(const NamedTensors& outputs, NamedTensors& scalars) const {
    for (auto& name : net_scalars_) {
      const at::Tensor& value = outputs.at(name);
      if (value.dim() != 0)
        throw std::invalid_argument(
            c10::str("the net's value '", name, "' has shape ", value.sizes(), ", expected a scalar"));
      scalars.add(name, value.detach().to(scalars.at("loss").options().dtype(at::kFloat)));
    }
  }

  const Settings net_settings_, loss_settings_;
  Net& net_;
  std::unique_ptr<Loss> loss_;
  std::vector<std::string> net_scalars_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(supervised) {
  parts.steps.add(
      {"supervised",
       "forward pass of the net, then the loss",
       {},
       FLOWTRAIN_MAKE([](const Settings&, const StepInput& input) { return std::make_unique<SupervisedStep>(input); }),
       {.tells_apart = true}});
}

}  // namespace flowtrain::nets
