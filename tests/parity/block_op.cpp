#include "tests/parity/block_op.h"

#include <torch/torch.h>

#include <functional>

#include "nets/cornernet/hourglass.h"
#include "tests/parity/state_dict.h"

namespace flowtrain::parity {
namespace {

using namespace nets::cornernet;
using Tensors = std::vector<at::Tensor>;

/// A module, and its outputs for a picture.
struct Built {
  std::shared_ptr<torch::nn::Module> module;
  std::function<Tensors(const at::Tensor&)> forward;
};

std::int64_t integer(const Call& call, const char* key) { return call.set.get<std::int64_t>(key); }
std::int64_t stride(const Call& call) { return call.set.get<std::int64_t>("stride", 1); }

Built block(const std::shared_ptr<Block>& block) {
  return {block, [block](const at::Tensor& x) { return Tensors{block->forward(x)}; }};
}

template <class Holder>
Built holder(Holder module) {
  return {module.ptr(), [module](const at::Tensor& x) mutable { return Tensors{module->forward(x)}; }};
}

HourglassPlan hourglass_plan(const Call& call, const std::string& family) {
  if (family != "CornerNet" && family != "CornerNet_Squeeze" && family != "CornerNet_Saccade") {
    throw BadCall("--set family=" + family + ": expected CornerNet, CornerNet_Squeeze or CornerNet_Saccade");
  }
  HourglassPlan plan;
  plan.widths = call.set.get<std::vector<std::int64_t>>("dims");
  plan.blocks = call.set.get<std::vector<std::int64_t>>("modules");
  plan.fire = family == "CornerNet_Squeeze";
  const auto n = static_cast<std::size_t>(integer(call, "n"));
  if (n < 1 || plan.widths.size() != n + 1 || plan.blocks.size() != n + 1) {
    throw BadCall("--set n: expected 1 or more, and one more dims and modules than n");
  }
  return plan;
}

Built hourglass(const Call& call) {
  const auto family = call.set.get<std::string>("family");
  const auto module = std::make_shared<Hourglass>(hourglass_plan(call, family));
  const bool with_merged = family == "CornerNet_Saccade";
  return {module, [module, with_merged](const at::Tensor& x) {
            Tensors outputs(1);
            outputs[0] = module->forward(x, with_merged ? &outputs : nullptr);
            return outputs;
          }};
}

Built stack(const Call& call) {
  const auto family = call.set.get<std::string>("family");
  StackPlan plan;
  plan.hourglass = hourglass_plan(call, family);
  plan.pre = call.set.get<std::vector<std::int64_t>>("pre");
  plan.stacks = integer(call, "stacks");
  if (plan.stacks < 1) throw BadCall("--set stacks: expected 1 or more");
  if (plan.pre.empty() || plan.pre.back() != plan.hourglass.widths[0]) {
    throw BadCall("--set pre: expected a list of widths that ends with the first of dims");
  }
  const auto module = std::make_shared<HourglassStack>(plan, /*channels=*/3);
  const bool with_merged = family == "CornerNet_Saccade";
  return {module, [module, with_merged](const at::Tensor& x) {
            const StackFeatures features = module->forward(x, with_merged);
            Tensors outputs = features.maps;
            for (const Tensors& merged : features.merged) outputs.insert(outputs.end(), merged.begin(), merged.end());
            return outputs;
          }};
}

Built build(const Call& call) {
  const auto kind = call.set.get<std::string>("kind");
  if (kind == "convolution") {
    return block(std::make_shared<Convolution>(integer(call, "inp"), integer(call, "out"), integer(call, "k"),
                                               stride(call), call.set.get<bool>("bn", true)));
  }
  if (kind == "residual") {
    return block(std::make_shared<Residual>(integer(call, "inp"), integer(call, "out"), stride(call)));
  }
  if (kind == "fire") {
    return block(std::make_shared<Fire>(integer(call, "inp"), integer(call, "out"), stride(call)));
  }
  if (kind == "corner_pool_tl" || kind == "corner_pool_br") {
    const auto corner = kind == "corner_pool_tl" ? Corner::top_left : Corner::bottom_right;
    return block(std::make_shared<CornerPoolBlock>(integer(call, "dim"), corner));
  }
  if (kind == "head") {
    return holder(head(integer(call, "k"), integer(call, "inp"), integer(call, "mid"), integer(call, "out")));
  }
  if (kind == "merge") return holder(merge(integer(call, "dim"), integer(call, "dim")));
  if (kind == "unpool_transpose") return holder(unpool_transpose(integer(call, "dim")));
  if (kind == "unpool_nearest") {
    integer(call, "dim");  // read, as nothing depends on it
    return {torch::nn::Identity().ptr(), [](const at::Tensor& x) { return Tensors{unpool_nearest(x)}; }};
  }
  if (kind == "hourglass") return hourglass(call);
  if (kind == "stack") return stack(call);
  throw BadCall("--set kind=" + kind + ": no such block");
}

NamedTensors named(const torch::OrderedDict<std::string, at::Tensor>& from) {
  NamedTensors tensors;
  for (const auto& item : from) tensors.set(item.key(), item.value());
  return tensors;
}

NamedTensors below(const NamedTensors& in, const std::string& prefix) {
  NamedTensors some;
  for (const auto& [name, tensor] : in) {
    if (name.starts_with(prefix)) some.set(name.substr(prefix.size()), tensor);
  }
  return some;
}

/// "y", "y1", "y2" …
std::string numbered(const std::string& name, std::size_t i) { return i == 0 ? name : name + std::to_string(i); }

void add_outputs(NamedTensors& out, const std::string& mode, const Tensors& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) out.set(mode + numbered(".y", i), outputs[i].detach());
}

}  // namespace

NamedTensors run_block(const Call& call) {
  const Built built = build(call);
  built.module->to(call.device);
  const auto parameters = named(built.module->named_parameters()), buffers = named(built.module->named_buffers());
  load(state_dict(parameters, buffers), below(call.in, "sd."));
  const at::Tensor x = input(call.in, "x", at::kFloat, {-1, -1, -1, -1}).clone().requires_grad_();

  NamedTensors out;
  built.module->eval();
  {
    const torch::NoGradGuard no_gradients;
    add_outputs(out, "eval", built.forward(x));
  }
  built.module->train();
  const Tensors outputs = built.forward(x);
  add_outputs(out, "train", outputs);
  at::Tensor sum = at::zeros({}, x.options());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    sum = sum + (outputs[i] * input(call.in, numbered("g", i), at::kFloat, outputs[i].sizes().vec())).sum();
  }
  sum.backward();
  out.set("train.gx", x.grad());
  for (const auto& [name, parameter] : parameters) out.set("train.grad." + name, parameter.grad());
  for (const auto& [name, buffer] : buffers) out.set("train.sd." + name, buffer);
  return out;
}

}  // namespace flowtrain::parity
