#include "stages/torch/step/passes.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/named.h"

namespace flowtrain {

namespace {

using LossNames = std::vector<std::string>;

bool among(const LossNames& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

// Returns the losses in the step's order, so that equal sets of losses compare equal.
LossNames losses_of(const Settings& optim, const LossNames& known) {
  const LossNames wanted = optim.texts("losses");
  if (wanted.empty()) return {known.front()};
  for (auto& name : wanted)
    if (!among(known, name))
      throw optim.error("losses", concat("the step has no loss '", name, "'"), ExitCode::usage,
                        "known: " + join(known));
  LossNames losses = known;
  std::erase_if(losses, [&](auto& name) { return !among(wanted, name); });
  return losses;
}

void check_all_lowered(const std::vector<Pass>& passes, const std::vector<Settings>& optims, const LossNames& known) {
  for (auto& name : known)
    if (std::none_of(passes.begin(), passes.end(), [&](auto& pass) { return among(pass.losses, name); }))
      throw optims.front().error(
          "losses", concat("no optimizer lowers '", name, "', one of the step's losses"), ExitCode::usage,
          "the step has: " + join(known) + "; [[optim]] with losses and params selects the optimizer of each loss");
}

}  // namespace

bool Pass::due(std::uint64_t iteration) const {
  return std::ranges::any_of(served, [&](auto& each) { return each.at_work(iteration); });
}

bool Pass::has_every_iteration() const {
  return std::ranges::any_of(served, [](auto& each) { return each.every == 1; });
}

std::string Pass::shown(const std::string& scalar) const {
  return among(losses, scalar) ? nets::part_of_loss + scalar : scalar;
}

at::Tensor Pass::lowered(const nets::NamedTensors& all) const {
  at::Tensor sum = all.at(losses.front());
  for (std::size_t i = 1; i < losses.size(); ++i) sum = sum + all.at(losses[i]);
  return sum;
}

at::Tensor Pass::scalars_of(const at::Tensor& lowered, const nets::NamedTensors& losses_and_scalars) const {
  std::vector<at::Tensor> values{lowered.detach()};
  for (auto& name : scalars) values.push_back(losses_and_scalars.at(name).detach());
  return torch::stack(values).to(at::kFloat);
}

void Pass::backward(const at::Tensor& loss, std::uint64_t iteration, bool alone) const {
  const auto at_work = [&](auto& each) { return each.at_work(iteration); };
  if (alone && std::ranges::all_of(served, at_work)) return loss.backward(one);
  std::vector<at::Tensor> own;
  for (auto& each : served)
    if (at_work(each)) own.insert(own.end(), each.parameters.begin(), each.parameters.end());
  loss.backward(one, std::nullopt, false, own);
}

void Pass::forget_idle(std::uint64_t iteration) const {
  for (auto& each : served)
    if (!each.at_work(iteration))
      for (auto& parameter : each.parameters) parameter.mutable_grad().reset();
}

void Pass::report(std::span<const double> read, StepStats& done) const {
  if (!read.empty()) done.loss += read.front();
  for (std::size_t i = 0; i < scalars.size(); ++i)
    done.parts.emplace_back(shown(scalars[i]), read.empty() ? std::nan("") : read[1 + i]);
}

std::vector<Pass> make_passes(const std::vector<Settings>& optims, const AssignedParameters& assigned,
                              const nets::Step& step) {
  const LossNames known = step.losses();
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < optims.size(); ++i) {
    const LossNames losses = losses_of(optims[i], known);
    auto pass = std::ranges::find_if(passes, [&](auto& each) { return each.losses == losses; });
    if (pass == passes.end()) {
      pass = passes.insert(passes.end(), Pass{losses, {}, {}, {}});
      if (known.size() > 1) pass->scalars = losses;
      std::ranges::copy(step.scalars(losses), std::back_inserter(pass->scalars));
    }
    const nets::NamedTensors own = parameters_of(assigned.optimizers[i]);
    pass->served.push_back({i, static_cast<std::uint64_t>(optims[i].integer("every")), tensors_of(own)});
    append(pass->parameters, own);
  }
  check_all_lowered(passes, optims, known);
  if (std::ranges::none_of(passes, &Pass::has_every_iteration))
    throw optims.front().error("every", "no optimizer is at work in every iteration", ExitCode::usage,
                               "one of them needs every = 1");
  return passes;
}

at::Tensor loss_of(const std::vector<Pass>& passes) {
  at::Tensor loss;
  for (auto& pass : passes)
    if (pass.sums.defined()) loss = loss.defined() ? loss + pass.sums[0] : pass.sums[0];
  return loss;
}

}  // namespace flowtrain
