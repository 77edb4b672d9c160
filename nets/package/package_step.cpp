// The training step of nets from packages.

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "nets/net.h"
#include "nets/package/compiled_net.h"
#include "nets/steps/step.h"
#include "sampling/core/mistake.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using Names = std::vector<std::string>;

/// The losses of a compiled net, each computed by its own graph. A mistake is reported at the key that names the net.
class PackageStep final : public Step {
 public:
  PackageStep(const StepInput& input, CompiledNet& compiled)
      : net_settings_(input.net_settings), net_(input.net), compiled_(compiled) {}

  Names losses() const override { return compiled_.losses(); }
  Names scalars(const Names& wanted) const override {
    Names all;
    for (const std::string& loss : wanted)
      for (std::string& scalar : compiled_.scalars_of(loss)) all.push_back(std::move(scalar));
    return all;
  }

  NamedTensors operator()(const NamedTensors& batch, const Names& wanted) override {
    RECORD_USER_SCOPE("net");
    return rethrow_at_key(net_settings_, key_of_net(net_settings_), [&] {
      NamedTensors all;
      for (const std::string& loss : wanted)
        for (const auto& [name, value] : compiled_.loss_of(loss, batch)) all.set(name, value);
      return all;
    });
  }

  bool counts(const std::string& name) const override { return compiled_.counts(name); }

  // The loss is the sum of all losses, as in the log of training.
  Evaluated evaluate(const NamedTensors& batch) override {
    RECORD_USER_SCOPE("net");
    NamedTensors outputs =
        rethrow_at_key(net_settings_, key_of_net(net_settings_), [&] { return net_.forward(batch); });
    const Names all = losses();
    if (std::ranges::any_of(all, [this](auto& loss) { return counts(loss); }))
      return counted(std::move(outputs), all, batch);
    at::Tensor sum;
    for (const std::string& loss : all) sum = sum.defined() ? sum + outputs.at(loss) : outputs.at(loss);
    return {std::move(outputs), std::move(sum)};
  }

 private:
  // Gives each loss and its terms, since those of several losses differ.
  Evaluated counted(NamedTensors outputs, const Names& all, const NamedTensors& batch) const {
    std::vector<at::Tensor> means, terms;
    for (const std::string& loss : all) {
      means.push_back(outputs.at(loss).reshape({}));
      terms.push_back(counts(loss) ? outputs.at(count_of(loss)).reshape({})
                                   : at::full_like(means.back(), batch.begin()->second.size(0)));
    }
    return {std::move(outputs), at::stack(means), at::stack(terms)};
  }

  const Settings net_settings_;
  Net& net_;
  CompiledNet& compiled_;
};

std::unique_ptr<Step> make_package_step(const Settings&, const StepInput& input) {
  if (auto* const compiled = compiled_net(input.net)) return std::make_unique<PackageStep>(input, *compiled);
  throw std::invalid_argument("package: this step needs net.package, a net that is compiled with its losses");
}

}  // namespace
#endif

FLOWTRAIN_PARTS(package_step) {
  parts.steps.add({"package", "losses of net.package", {}, FLOWTRAIN_MAKE(make_package_step), {.tells_apart = true}});
}

}  // namespace flowtrain::nets
