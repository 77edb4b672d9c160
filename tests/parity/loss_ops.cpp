// The losses, and their gradients to what the nets give.

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "nets/cornernet/loss.h"
#include "tests/parity/ops.h"
#include "tests/support/parts.h"

namespace flowtrain::parity {
namespace {

using Sizes = std::vector<std::int64_t>;

/// A leaf of its own, so that gradients can be asked for.
at::Tensor leaf(const at::Tensor& tensor) { return tensor.detach().clone().requires_grad_(); }

/// What backward leaves in `tensor`; zeros where the result does not depend on it.
at::Tensor gradient(const at::Tensor& of, const at::Tensor& tensor) {
  const auto found = torch::autograd::grad({of}, {tensor}, {}, /*retain_graph=*/true, {}, /*allow_unused=*/true)[0];
  return found.defined() ? found : at::zeros_like(tensor);
}

NamedTensors focal(const Call& call, bool masked) {
  const at::Tensor target = input(call.in, "gt", at::kFloat, {-1, -1, -1, -1});
  const Sizes sizes = target.sizes().vec();
  const at::Tensor valid = masked ? input(call.in, "mask", at::kFloat, sizes) : at::Tensor();
  std::vector<at::Tensor> logits;
  at::Tensor loss;
  for (std::string name = "logits0"; logits.empty() || call.in.contains(name);
       name = "logits" + std::to_string(logits.size())) {
    logits.push_back(leaf(input(call.in, name, at::kFloat, sizes)));
    const at::Tensor stack = nets::focal_loss(logits.back(), target, valid);
    loss = loss.defined() ? loss + stack : stack;
  }
  NamedTensors out{{"loss", loss.detach()}};
  for (std::size_t i = 0; i < logits.size(); ++i) out.set("grad.logits" + std::to_string(i), gradient(loss, logits[i]));
  return out;
}

NamedTensors focal_loss(const Call& call) { return focal(call, false); }
NamedTensors focal_loss_masked(const Call& call) { return focal(call, true); }

NamedTensors ae_loss(const Call& call) {
  const at::Tensor tl = leaf(input(call.in, "tag0", at::kFloat, {-1, -1, 1}));
  const at::Tensor br = leaf(input(call.in, "tag1", at::kFloat, tl.sizes().vec()));
  const at::Tensor mask = input(call.in, "mask", at::kByte, {tl.size(0), tl.size(1)});
  const nets::TagLoss loss = nets::tag_loss(tl.squeeze(2), br.squeeze(2), mask);
  return {{"pull", loss.pull.detach()},
          {"push", loss.push.detach()},
          {"grad.pull.tag0", gradient(loss.pull, tl)},
          {"grad.pull.tag1", gradient(loss.pull, br)},
          {"grad.push.tag0", gradient(loss.push, tl)},
          {"grad.push.tag1", gradient(loss.push, br)}};
}

NamedTensors offset_loss(const Call& call) {
  const at::Tensor offset = leaf(input(call.in, "off", at::kFloat, {-1, -1, 2}));
  const at::Tensor target = input(call.in, "gt", at::kFloat, offset.sizes().vec());
  const at::Tensor mask = input(call.in, "mask", at::kByte, {offset.size(0), offset.size(1)});
  const at::Tensor loss = nets::offset_loss(offset, target, mask);
  return {{"loss", loss.detach()}, {"grad.off", gradient(loss, offset)}};
}

/// The batch's fields under the names that the loss knows: without `gt_`.
NamedTensors corner_targets(const Call& call, bool saccade, const Sizes& heat) {
  const std::int64_t batch = heat[0];
  const std::int64_t objects = input(call.in, "mask", at::kByte, {batch, -1}).size(1);
  NamedTensors fields{{"mask", call.in.at("mask")}};
  for (const std::string corner : {"tl", "br"}) {
    fields.set(corner + "_heat", input(call.in, "gt_" + corner + "_heat", at::kFloat, heat));
    fields.set(corner + "_off", input(call.in, "gt_" + corner + "_off", at::kFloat, {batch, objects, 2}));
    fields.set(corner + "_ind", input(call.in, corner + "_ind", at::kLong, {batch, objects}));
    if (saccade) fields.set(corner + "_valid", input(call.in, "gt_" + corner + "_valid", at::kFloat, heat));
  }
  if (saccade)
    for (const std::string att : {"att0", "att1", "att2"})
      fields.set(att, input(call.in, "gt_" + att, at::kFloat, {batch, 1, -1, -1}));
  return fields;
}

/// The head maps of all stacks, as leaves.
NamedTensors head_maps(const Call& call, bool saccade, const Sizes& heat, const NamedTensors& targets) {
  NamedTensors maps;
  const auto take = [&](const std::string& name, const Sizes& sizes) {
    maps.set(name, leaf(input(call.in, name, at::kFloat, sizes)));
  };
  for (int s = 0; s == 0 || call.in.contains("tl_heat" + std::to_string(s)); ++s) {
    const std::string stack = std::to_string(s);
    for (const std::string corner : {"tl", "br"}) {
      take(corner + "_heat" + stack, heat);
      take(corner + "_tag" + stack, {heat[0], 1, heat[2], heat[3]});
      take(corner + "_off" + stack, {heat[0], 2, heat[2], heat[3]});
    }
    if (saccade)
      for (const std::string size : {"0", "1", "2"})
        take("att" + stack + "_" + size, targets.at("att" + size).sizes().vec());
  }
  return maps;
}

NamedTensors total_loss(const Call& call) {
  const auto net = call.set.get<std::string>("net");
  const bool saccade = net == "CornerNet_Saccade";
  if (!saccade && net != "CornerNet" && net != "CornerNet_Squeeze") throw BadCall("--set net=" + net + ": no such net");
  testing::Values weights;
  for (const std::string key : {"pull_weight", "push_weight", "off_weight"})
    if (call.set.has(key)) weights.emplace_back(key, call.set.get<double>(key));
  const auto whole = testing::make_loss(saccade ? "cornernet_saccade" : "cornernet", weights);

  const Sizes heat = input(call.in, "gt_tl_heat", at::kFloat, {-1, -1, -1, -1}).sizes().vec();
  const NamedTensors targets = corner_targets(call, saccade, heat);
  const NamedTensors maps = head_maps(call, saccade, heat, targets);
  const at::Tensor loss = (*whole)(maps, targets).at("loss");
  NamedTensors out{{"loss", loss.detach()}};
  for (const auto& [name, map] : maps) out.set("grad." + name, gradient(loss, map));
  return out;
}

}  // namespace

Ops loss_ops() {
  return {{"focal_loss", focal_loss},
          {"focal_loss_masked", focal_loss_masked},
          {"ae_loss", ae_loss},
          {"offset_loss", offset_loss},
          {"total_loss", total_loss}};
}

}  // namespace flowtrain::parity
