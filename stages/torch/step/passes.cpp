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

// Finds what counts. The gradients of a sum of losses cannot be divided by the terms of each.
LossNames counted_in(const Pass& pass, const nets::Step& step, const Settings& optim) {
  LossNames counted;
  for (auto& name : pass.losses) {
    if (!step.counts(name)) continue;
    if (pass.losses.size() > 1)
      throw optim.error(
          "losses",
          concat("'", name, "' is a mean over terms that it counts, so it is lowered by itself, not with ",
                 pass.losses.size() - 1, " more"),
          ExitCode::usage, "let each [[optim]] lower one loss, or add the losses up in the step");
    counted.push_back(name);
  }
  for (auto& name : pass.scalars)
    if (step.counts(name) && !among(counted, name)) counted.push_back(name);
  return counted;
}

at::Tensor as_double(const at::Tensor& scalar) { return scalar.detach().reshape({}).to(at::kDouble); }

// Returns the divisor that makes a mean of a sum over `terms`: a sum without terms is zero, and stays so.
at::Tensor divisor_of(const at::Tensor& terms) { return terms + terms.eq(0); }

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

std::optional<std::size_t> Pass::terms_of(const std::string& name) const {
  const auto found = std::ranges::find(counted, name);
  if (found == counted.end()) return {};
  return 1 + scalars.size() + static_cast<std::size_t>(found - counted.begin());
}

at::Tensor Pass::over_slots(const at::Tensor& lowered, const nets::NamedTensors& all, double slots) const {
  if (!counts()) return lowered;
  return lowered * (as_double(all.at(nets::count_of(losses.front()))) / slots).to(at::kFloat);
}

at::Tensor Pass::values_of(const at::Tensor& lowered, const nets::NamedTensors& all, double slots) const {
  std::vector<at::Tensor> values{lowered.detach()};
  for (auto& name : scalars) values.push_back(all.at(name).detach());
  if (counted.empty()) return torch::stack(values).to(at::kFloat);
  for (at::Tensor& value : values) value = as_double(value);
  for (auto& name : counted) values.push_back(as_double(all.at(nets::count_of(name))) / slots);
  if (const auto terms = terms_of(losses.front())) values.front() = values.front() * values[*terms];
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (const auto terms = terms_of(scalars[i])) values[1 + i] = values[1 + i] * values[*terms];
  return torch::stack(values);
}

at::Tensor Pass::loss_in(const at::Tensor& values) const {
  const auto terms = terms_of(losses.front());
  if (!terms) return counted.empty() ? values[0] : values[0].to(at::kFloat);
  return (values[0] / divisor_of(values[static_cast<std::int64_t>(*terms)])).to(at::kFloat);
}

void Pass::divide_gradients(const at::Tensor& values) const {
  if (!values.defined()) return;
  const auto terms = static_cast<std::int64_t>(terms_of(losses.front()).value());
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (gradients.empty()) return;
  at::_foreach_mul_(gradients, divisor_of(values[terms].to(at::kDouble)).reciprocal().to(at::kFloat));
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
  const auto mean = [&](std::size_t place, const std::string& name) {
    const auto terms = terms_of(name);
    return terms && read[*terms] != 0 ? read[place] / read[*terms] : read[place];
  };
  if (!read.empty()) done.loss += mean(0, losses.front());
  for (std::size_t i = 0; i < scalars.size(); ++i)
    done.parts.emplace_back(shown(scalars[i]), read.empty() ? std::nan("") : mean(1 + i, scalars[i]));
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
      pass->counted = counted_in(*pass, step, optims[i]);
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
    if (pass.sums.defined()) loss = loss.defined() ? loss + pass.loss_in(pass.sums) : pass.loss_in(pass.sums);
  return loss;
}

}  // namespace flowtrain
