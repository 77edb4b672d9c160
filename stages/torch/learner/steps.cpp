#include "stages/torch/learner/steps.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <stdexcept>

#include "nets/figures.h"
#include "nets/losses/loss.h"
#include "sampling/core/settings.h"
#include "stages/torch/learner/net_spec.h"
#include "stages/torch/plugin.h"

namespace flowtrain {

namespace {

// The net's forward, then the loss.
class SupervisedStep final : public nets::Step {
 public:
  SupervisedStep(const LearnerSpec& spec, nets::Net& net)
      : net_settings_(spec.net),
        loss_settings_(spec.loss),
        net_(net),
        loss_(made_from(spec.loss, loss_key(), [&] { return make_loss(spec.loss, spec.classes); })) {
    if (const auto* reports = dynamic_cast<const nets::Reports*>(&net)) of_net_ = reports->figures();
  }

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> figures(const std::vector<std::string>&) const override {
    std::vector<std::string> names;
    for (auto& part : loss_->figures()) names.push_back(part_of_loss + part);
    for (auto& figure : of_net_) names.push_back(figure);
    return names;
  }

  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    const nets::NamedTensors outputs = run_net(batch);
    nets::NamedTensors scalars = losses_of(outputs, batch);
    made_from(net_settings_, net_key(net_settings_), [&] { add_figures(outputs, scalars); });
    return scalars;
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    nets::NamedTensors outputs = run_net(batch);
    at::Tensor loss = losses_of(outputs, batch).at("loss");
    return {std::move(outputs), std::move(loss)};
  }

 private:
  static std::unique_ptr<nets::Loss> make_loss(const Settings& loss, std::int64_t classes) {
    if (!loss.text("plugin").empty()) return Plugin(loss, PluginKind::loss).loss();
    return nets::make_loss({loss.text("name"), loss.real("label_smoothing"), loss.real("pull_weight"),
                            loss.real("push_weight"), loss.real("off_weight"), classes});
  }
  const char* loss_key() const { return loss_settings_.text("plugin").empty() ? "name" : "plugin"; }

  // A script's forward is the user's.
  nets::NamedTensors run_net(const nets::NamedTensors& batch) {
    RECORD_USER_SCOPE("net");
    return made_from(net_settings_, net_key(net_settings_), [&] { return net_.forward(batch); });
  }

  // Outputs and batch fit each other only if net, loss and sampler were chosen so.
  nets::NamedTensors losses_of(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) {
    RECORD_USER_SCOPE("loss");
    const auto made = made_from(loss_settings_, loss_key(), [&] { return (*loss_)(outputs, batch); });
    nets::NamedTensors losses;
    for (const auto& [name, value] : made) losses.add(name == "loss" ? name : part_of_loss + name, value);
    return losses;
  }

  // The net's own.
  void add_figures(const nets::NamedTensors& outputs, nets::NamedTensors& scalars) const {
    for (auto& name : of_net_) {
      const at::Tensor& value = outputs.at(name);
      if (value.dim() != 0)
        throw std::invalid_argument(
            c10::str("the net's figure '", name, "' has shape ", value.sizes(), ", expected a scalar"));
      scalars.add(name, value.detach().to(scalars.at("loss").options().dtype(at::kFloat)));
    }
  }

  const Settings net_settings_, loss_settings_;
  nets::Net& net_;
  std::unique_ptr<nets::Loss> loss_;
  std::vector<std::string> of_net_;  // figures
};

// Any other: its mistakes are those of the key that names it.
class NamedStep final : public nets::Step {
 public:
  NamedStep(const Settings& settings, const std::string& key, std::unique_ptr<nets::Step> step)
      : settings_(settings), key_(key), step_(std::move(step)) {}

  std::vector<std::string> losses() const override { return step_->losses(); }
  std::vector<std::string> figures(const std::vector<std::string>& wanted) const override {
    return step_->figures(wanted);
  }
  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>& wanted) override {
    RECORD_USER_SCOPE("net");
    return made_from(settings_, key_, [&] { return (*step_)(batch, wanted); });
  }
  Evaluated evaluate(const nets::NamedTensors& batch) override {
    return made_from(settings_, key_, [&] { return step_->evaluate(batch); });
  }

 private:
  const Settings settings_;
  const std::string key_;
  std::unique_ptr<nets::Step> step_;
};

}  // namespace

std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net) {
  if (!spec.step) return std::make_unique<SupervisedStep>(spec, net);
  const Settings& settings = *spec.step;
  if (!settings.text("plugin").empty()) {
    const Plugin plugin(settings, PluginKind::step);
    return std::make_unique<NamedStep>(settings, "plugin",
                                       made_from(settings, "plugin", [&] { return plugin.step(net); }));
  }
  const std::string& name = settings.text("name");
  if (name == "supervised") return std::make_unique<SupervisedStep>(spec, net);
  return std::make_unique<NamedStep>(settings, "name",
                                     made_from(settings, "name", [&] { return nets::make_step(name, net); }));
}

std::vector<std::string> training_step_names() {
  auto names = nets::step_names();
  names.insert(std::upper_bound(names.begin(), names.end(), "supervised"), "supervised");
  return names;
}

}  // namespace flowtrain
