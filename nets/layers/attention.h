#pragma once
// Attention of several heads, the masks of what it may read, and the memory of what it has read. Only nets/ includes
// this file.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

namespace flowtrain::nets {

/// The positions that attention may read.
struct AttentionMask {
  bool causal = false;   ///< a position reads itself and all before it
  at::Tensor bias = {};  ///< (B, 1, L or 1, L) f32, 0 or -inf, which replaces `causal`; undefined: none
};

/// Returns the mask of rows of several documents: a position reads those that have its own number in `segment` (B, L).
AttentionMask within_segments(const at::Tensor& segment, bool causal);
/// Returns which positions (B, extent) are among the first `lengths` (B) of a row.
at::Tensor positions_within(const at::Tensor& lengths, std::int64_t extent);
/// Returns the mask of padded rows, in which all positions read the first `lengths` (B) of `extent` ones. A row of
/// length 0 reads one.
AttentionMask within_lengths(const at::Tensor& lengths, std::int64_t extent);

/// The keys and values that a layer has of the texts under way.
class KeyValues {
 public:
  std::int64_t length() const { return length_; }
  /// Appends keys and values (B, heads, T, depth), and returns those of all positions.
  std::pair<at::Tensor, at::Tensor> append(const at::Tensor& keys, const at::Tensor& values);

 private:
  at::Tensor keys_, values_;  // (B, heads, capacity, depth)
  std::int64_t length_ = 0;
};

/// Computes scaled dot-product attention (A. Vaswani et al., NeurIPS 2017). `projected` (B, L, 3 * width) has queries,
/// keys and values side by side, and the result is (B, L, width). `dropout` is the share of weights that are dropped.
/// With `past`, the positions follow those in it, and are appended to it; the mask must then be causal, without a bias.
at::Tensor attention(const at::Tensor& projected, std::int64_t heads, const AttentionMask& mask, double dropout,
                     KeyValues* past = nullptr);

}  // namespace flowtrain::nets
