#include "nets/diagnostics/flop_count.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "nets/diagnostics/op_watch.h"

namespace flowtrain::nets {
namespace {

// The tensors among an operation's inputs, by their position.
struct Inputs {
  const at::RecordFunction& call;

  bool has(std::size_t i) const {
    const auto all = call.inputs();
    return i < all.size() && all[i].isTensor() && all[i].toTensor().defined();
  }
  at::Tensor operator[](std::size_t i) const { return call.inputs()[i].toTensor(); }
};

// Returns the operations of (…, m, k) times (…, k, n).
double product(const at::Tensor& a, const at::Tensor& b) {
  return 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

// An operation under way, with the counts that are known from its inputs.
struct CountedCall : at::ObserverContext {
  double flops = 0;
  double flops_per_output = 0;  // count for each value of the first output
};

// Counts a convolution: all weights of one channel meet each value of the output (of a transposed one: of the input).
void count_convolution(const at::RecordFunction& call, CountedCall& counted) {
  constexpr std::size_t transposed = 6;  // position among aten::_convolution's inputs
  const Inputs inputs{call};
  const auto all = call.inputs();
  if (!inputs.has(0) || !inputs.has(1) || all.size() <= transposed || !all[transposed].isBool()) return;
  const at::Tensor weight = inputs[1];
  if (weight.numel() == 0) return;
  const std::int64_t of_a_channel = weight.numel() / weight.size(0);
  const double per_value = 2.0 * static_cast<double>(of_a_channel);
  if (all[transposed].toBool())
    counted.flops = per_value * static_cast<double>(inputs[0].numel());
  else
    counted.flops_per_output = per_value;
}

// Returns the operations of attention with queries (…, l, e), keys (…, s, e) and values (…, s, v).
double attention(const Inputs& inputs) {
  if (!inputs.has(0) || !inputs.has(1) || !inputs.has(2)) return 0;
  const std::int64_t queries = inputs[0].numel() / inputs[0].size(-1);
  return 2.0 * static_cast<double>(inputs[0].numel()) * static_cast<double>(inputs[1].size(-2)) +
         2.0 * static_cast<double>(queries) * static_cast<double>(inputs[2].size(-2)) *
             static_cast<double>(inputs[2].size(-1));
}

// Counts basic operations only, into which others (linear, matmul, conv2d …) turn; returns null for all others.
std::unique_ptr<CountedCall> begin_call(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const Inputs inputs{call};
  auto counted = std::make_unique<CountedCall>();
  if (name == "aten::mm" || name == "aten::bmm") {
    if (inputs.has(0) && inputs.has(1)) counted->flops = product(inputs[0], inputs[1]);
    return counted;
  }
  if (name == "aten::addmm" || name == "aten::baddbmm") {
    if (inputs.has(1) && inputs.has(2)) counted->flops = product(inputs[1], inputs[2]);
    return counted;
  }
  if (name == "aten::_convolution") {
    count_convolution(call, *counted);
    return counted;
  }
  constexpr std::array fused{
      "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention_for_cpu",
      "aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_cudnn_attention"};
  if (std::ranges::none_of(fused, [&](std::string_view each) { return name == each; })) return nullptr;
  counted->flops = attention(inputs);
  return counted;
}

}  // namespace

struct FlopCount::Impl {
  std::unique_ptr<CountedCall> enter(const at::RecordFunction& call) { return begin_call(call); }

  void leave(const at::RecordFunction& call, const at::ObserverContext& context) {
    const auto& counted = static_cast<const CountedCall&>(context);
    flops += counted.flops;
    const auto& outputs = call.outputs();
    if (counted.flops_per_output > 0 && !outputs.empty() && outputs[0].isTensor())
      flops += counted.flops_per_output * static_cast<double>(outputs[0].toTensor().numel());
  }

  double flops = 0;
  const OpCallbacks<Impl> callbacks{*this, true, {at::RecordScope::FUNCTION}};
};

FlopCount::FlopCount() : impl_(std::make_unique<Impl>()) {}

FlopCount::~FlopCount() = default;

double FlopCount::flops() const { return impl_->flops; }

}  // namespace flowtrain::nets
