#include "stages/torch/step/parameter_groups.h"

#include <ATen/ATen.h>

#include <sstream>

#include "pipeline/base/config/keys.h"

#undef CHECK
#include <doctest/doctest.h>

#include "sampling/core/settings.h"

namespace flowtrain::parameter_groups_test {

namespace {

using Values = std::vector<std::pair<std::string, Value>>;

Settings table(const std::string& kind, const Values& values) {
  Settings settings(kind, core_keys(kind));
  for (auto& [key, value] : values) settings.set(key, value, {"a.toml", 1, 1});
  return settings;
}

Settings optim(const Values& values) { return table("optim", values); }
Settings group(const Values& values) { return table("group", values); }
Value text(const char* value) { return std::string(value); }

/// Of one parameter each; the names tell who gets what.
nets::NamedTensors parameters() {
  nets::NamedTensors all;
  for (auto name : {"conv.weight", "conv.bias", "bn.weight", "bn.bias", "fc.weight", "fc.bias"})
    all.add(name, at::zeros({1}).requires_grad_(true));
  return all;
}

/// "conv.weight fc.weight | lr 0.1 decay 0": a line for each group of an optimizer.
std::vector<std::string> reported(const std::vector<nets::ParameterGroup>& groups) {
  std::vector<std::string> lines;
  for (auto& each : groups) {
    std::ostringstream line;
    for (const auto& [name, tensor] : each.parameters) line << name << " ";
    line << "| lr " << each.lr_mult << " decay " << each.weight_decay;
    lines.push_back(line.str());
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("of several groups that match a parameter the first counts, whole") {
  const std::vector<Settings> optims{optim({{"weight_decay", 0.01}})};
  const auto bias = group({{"params", text("bias$")}, {"weight_decay", 0.0}});
  const auto head = group({{"params", text("^fc\\.")}, {"lr_mult", 10.0}, {"weight_decay", 0.5}});
  CHECK(reported(assign_parameters(parameters(), optims, {bias, head}).optimizers.at(0)) ==
        Lines{"conv.weight bn.weight | lr 1 decay 0.01", "conv.bias bn.bias fc.bias | lr 1 decay 0",
              "fc.weight | lr 10 decay 0.5"});
  CHECK(reported(assign_parameters(parameters(), optims, {head, bias}).optimizers.at(0)) ==
        Lines{"conv.weight bn.weight | lr 1 decay 0.01", "fc.weight fc.bias | lr 10 decay 0.5",
              "conv.bias bn.bias | lr 1 decay 0"});
}

TEST_CASE(
    "a group holds within whatever optimizer its parameters belong to; without a weight decay of its own it has that "
    "one's") {
  const std::vector<Settings> optims{optim({{"params", text("^(conv|bn)")}, {"weight_decay", 0.01}}),
                                     optim({{"params", text("^fc")}, {"weight_decay", 0.02}})};
  const auto assigned = assign_parameters(parameters(), optims, {group({{"params", text("bias$")}, {"lr_mult", 2.0}})});
  CHECK(assigned.frozen.empty());
  REQUIRE(assigned.optimizers.size() == 2);
  CHECK(reported(assigned.optimizers[0]) ==
        Lines{"conv.weight bn.weight | lr 1 decay 0.01", "conv.bias bn.bias | lr 2 decay 0.01"});
  CHECK(reported(assigned.optimizers[1]) == Lines{"fc.weight | lr 1 decay 0.02", "fc.bias | lr 2 decay 0.02"});
}

TEST_CASE("what takes no gradient is frozen, whatever optimizer and group it has") {
  auto all = parameters();
  all.at("bn.bias").requires_grad_(false);
  const auto assigned =
      assign_parameters(all, {optim({{"params", text("bn")}}), optim({{"params", text("conv|fc")}})}, {});
  CHECK(assigned.frozen == std::set<std::string>{"bn.bias"});
}

TEST_CASE("what the first group freezes nobody learns; a later one freezes nothing of it") {
  const std::vector<Settings> optims{optim({})};
  const auto frozen = group({{"params", text("^conv")}, {"frozen", true}}),
             bias = group({{"params", text("bias$")}, {"lr_mult", 3.0}});
  CHECK(assign_parameters(parameters(), optims, {frozen, bias}).frozen ==
        std::set<std::string>{"conv.bias", "conv.weight"});
  const auto later = assign_parameters(parameters(), optims, {bias, frozen});
  CHECK(later.frozen == std::set<std::string>{"conv.weight"});
  CHECK(reported(later.optimizers.at(0)) ==
        Lines{"bn.weight fc.weight | lr 1 decay 0", "conv.bias bn.bias fc.bias | lr 3 decay 0"});
}

}  // namespace flowtrain::parameter_groups_test
