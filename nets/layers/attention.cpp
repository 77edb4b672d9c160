#include "nets/layers/attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace flowtrain::nets {
namespace {

/// Returns the bias of scores for a mask (B or 1, L or 1, L) of what may be read.
at::Tensor bias_of(const at::Tensor& readable) {
  return at::zeros(readable.sizes(), readable.options().dtype(at::kFloat))
      .masked_fill_(readable.logical_not(), -std::numeric_limits<double>::infinity())
      .unsqueeze(1);
}

}  // namespace

AttentionMask within_segments(const at::Tensor& segment, bool causal) {
  const at::Tensor same = segment.unsqueeze(2).eq(segment.unsqueeze(1));
  return {causal, bias_of(causal ? same.tril() : same)};
}

at::Tensor positions_within(const at::Tensor& lengths, std::int64_t extent) {
  return at::arange(extent, lengths.options()).lt(lengths.unsqueeze(1));
}

AttentionMask within_lengths(const at::Tensor& lengths, std::int64_t extent) {
  return {false, bias_of(positions_within(lengths.clamp_min(1), extent).unsqueeze(1))};
}

std::pair<at::Tensor, at::Tensor> KeyValues::append(const at::Tensor& keys, const at::Tensor& values) {
  const std::int64_t more = keys.size(2), all = length_ + more, capacity = keys_.defined() ? keys_.size(2) : 0;
  const auto append_to = [&](at::Tensor& kept, const at::Tensor& added) {
    if (all > capacity) {
      const at::Tensor wider =
          at::empty({added.size(0), added.size(1), std::max(2 * capacity, all), added.size(3)}, added.options());
      if (length_ > 0) wider.narrow(2, 0, length_).copy_(kept.narrow(2, 0, length_));
      kept = wider;
    }
    kept.narrow(2, length_, more).copy_(added);
    return kept.narrow(2, 0, all);
  };
  std::pair<at::Tensor, at::Tensor> both{append_to(keys_, keys), append_to(values_, values)};
  length_ = all;
  return both;
}

at::Tensor attention(const at::Tensor& projected, std::int64_t heads, const AttentionMask& mask, double dropout,
                     KeyValues* past) {
  const std::int64_t rows = projected.size(0), extent = projected.size(1), width = projected.size(2) / 3;
  const auto parts = projected.view({rows, extent, 3, heads, width / heads}).unbind(2);
  const at::Tensor queries = parts[0].transpose(1, 2);
  at::Tensor keys = parts[1].transpose(1, 2), values = parts[2].transpose(1, 2);
  std::optional<at::Tensor> bias;
  if (mask.bias.defined()) bias = mask.bias.to(projected.scalar_type());
  bool causal = mask.causal && !bias;
  if (past) {
    const std::int64_t before = past->length();
    std::tie(keys, values) = past->append(keys, values);
    if (before > 0 && extent > 1)
      bias = bias_of(at::ones({1, extent, before + extent}, projected.options().dtype(at::kBool)).tril(before))
                 .to(projected.scalar_type());
    causal = causal && before == 0;
  }
  return at::scaled_dot_product_attention(queries, keys, values, bias, dropout, causal)
      .transpose(1, 2)
      .reshape({rows, extent, width});
}

}  // namespace flowtrain::nets
