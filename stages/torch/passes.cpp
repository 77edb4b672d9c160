#include "stages/torch/passes.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sampling/say.h"
#include "sampling/settings.h"
#include "stages/torch/steps.h"

namespace flowtrain {

namespace {

using Names = std::vector<std::string>;

bool among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const Names& names) {
  std::string text;
  for (auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Names losses_of(const Settings& optim, const Names& known) {
  Names wanted = optim.texts("losses");
  if (wanted.empty()) return {known.front()};
  for (auto& name : wanted)
    if (!among(known, name))
      throw optim.error("losses", say("the step has no loss '", name, "'"), Exit::usage, "known: " + listed(known));
  return wanted;
}

void check_all_lowered(const std::vector<Pass>& passes, const std::vector<Settings>& optims, const Names& known) {
  for (auto& name : known)
    if (std::none_of(passes.begin(), passes.end(), [&](auto& pass) { return among(pass.losses, name); }))
      throw optims.front().error(
          "losses", say("no optimizer lowers '", name, "', one of the step's losses"), Exit::usage,
          "the step has: " + listed(known) + "; [[optim]] with losses and params says who lowers which");
}

}  // namespace

std::string Pass::shown(const std::string& figure) const {
  return among(losses, figure) ? part_of_loss + figure : figure;
}

at::Tensor Pass::lowered(const nets::NamedTensors& all) const {
  at::Tensor sum = all.at(losses.front());
  for (std::size_t i = 1; i < losses.size(); ++i) sum = sum + all.at(losses[i]);
  return sum;
}

at::Tensor Pass::figures_of(const at::Tensor& lowered, const nets::NamedTensors& losses_and_figures) const {
  std::vector<at::Tensor> values{lowered.detach()};
  for (auto& name : figures) values.push_back(losses_and_figures.at(name).detach());
  return torch::stack(values).to(at::kFloat);
}

void Pass::backward(const at::Tensor& loss, bool alone) const {
  if (alone) return loss.backward();
  std::vector<at::Tensor> own;
  for (const auto& [name, parameter] : parameters) own.push_back(parameter);
  loss.backward({}, std::nullopt, false, own);
}

at::Tensor Pass::reported() const { return sums.defined() && parallel ? parallel->figures() : sums; }

void Pass::report(std::span<const double> read, StepResult& done) const {
  if (!read.empty()) done.loss += read.front();
  for (std::size_t i = 0; i < figures.size(); ++i)
    done.parts.emplace_back(shown(figures[i]), read.empty() ? std::nan("") : read[1 + i]);
}

std::vector<Pass> make_passes(const std::vector<Settings>& optims, const SharedOut& shared, const nets::Step& step) {
  const Names known = step.losses();
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < optims.size(); ++i) {
    const Names losses = losses_of(optims[i], known);
    const auto every = static_cast<std::uint64_t>(optims[i].integer("every"));
    auto pass = std::find_if(passes.begin(), passes.end(),
                             [&](auto& each) { return each.losses == losses && each.every == every; });
    if (pass == passes.end()) {
      pass = passes.insert(passes.end(), Pass{losses, every, {}, {}, {}});
      if (known.size() > 1) pass->figures = losses;
      for (auto& name : step.figures(losses)) pass->figures.push_back(name);
    }
    pass->optimizers.push_back(i);
    for (auto& group : shared.optimizers[i])
      for (const auto& [name, parameter] : group.parameters) pass->parameters.add(name, parameter);
  }
  check_all_lowered(passes, optims, known);
  if (std::none_of(passes.begin(), passes.end(), [](auto& pass) { return pass.every == 1; }))
    throw optims.front().error("every", "no optimizer is at work in every iteration", Exit::usage,
                               "one of them needs every = 1");
  return passes;
}

at::Tensor loss_of(const std::vector<Pass>& passes) {
  at::Tensor loss;
  for (auto& pass : passes)
    if (pass.sums.defined()) loss = loss.defined() ? loss + pass.sums[0] : pass.sums[0];
  return loss;
}

Pass* exchange_gradients(std::vector<Pass>& passes, TorchGroup& group, const nets::NamedTensors& buffers,
                         const Settings& dist) {
  Pass* in_all = nullptr;
  auto options = parallel_options(dist);
  options.only_own = passes.size() > 1;
  for (auto& pass : passes) {
    pass.parallel = std::make_unique<DataParallel>(group, pass.parameters, buffers,
                                                   static_cast<std::int64_t>(1 + pass.figures.size()), options);
    if (!in_all && pass.every == 1) in_all = &pass;
  }
  return in_all;
}

}  // namespace flowtrain
