#pragma once
// The keys, sizes, layers and embeddings that transformers share. Only nets/ includes this file.

#include <cstdint>
#include <vector>

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include "nets/layers/attention.h"
#include "nets/layers/module.h"
#endif

namespace flowtrain::nets {

/// Returns the keys of a transformer of this size.
inline std::vector<Key> transformer_keys(std::int64_t layers, std::int64_t heads, std::int64_t width) {
  return {{"layers", Kind::integer, layers, "number of layers", 1, 4096},
          {"heads", Kind::integer, heads, "number of heads of attention, which divides `width`", 1, 4096},
          {"width", Kind::integer, width, "number of values for each token", 1, 1 << 20},
          {"length", Kind::integer, std::int64_t{0},
           "greatest number of tokens of a row; 0: that of the field `tokens`", 0, 1 << 24},
          {"vocabulary", Kind::integer, std::int64_t{0}, "number of ids of tokens; 0: that of the field `tokens`", 0,
           1 << 30},
          {"dropout", Kind::real, 0.0, "share of activations that training drops", 0, 0.999}};
}

#if FLOWTRAIN_COMPUTES

/// The values of transformer_keys() for the data at hand.
struct TransformerSize {
  /// Throws UserError(usage) for a width that the heads do not divide, for a length or vocabulary that is less than the
  /// data's, and for one that nobody says.
  TransformerSize(const Settings& settings, const NetInput& input);

  std::int64_t layers, heads, width, length, vocabulary;
  double dropout;
};

/// Throws UserError(usage) if net.heads do not divide net.width.
void check_heads(const Settings& settings);

/// Self-attention with the names of torch's nn.MultiheadAttention. The values of `in_proj_weight` and `in_proj_bias`
/// are not set.
struct SelfAttention final : torch::nn::Module {
  SelfAttention(std::int64_t width, std::int64_t of_heads);

  /// Maps (B, L, width) to the same shape.
  at::Tensor forward(const at::Tensor& x, const AttentionMask& mask, double dropout);

  std::int64_t heads;
  at::Tensor in_proj_weight, in_proj_bias;
  torch::nn::Linear out_proj;
};

/// Returns the mean (B, width) of x (B, L, width) over the positions `own` (B, L) bool of each row; 0 where there are
/// none. Of half precision the count and the division are f32.
at::Tensor mean_over(const at::Tensor& x, const at::Tensor& own);

/// Returns layer normalisation of the last axis, which has `width` values.
torch::nn::LayerNorm layer_norm(std::int64_t width);

/// Returns an embedding of `rows` rows, whose values are not set.
torch::nn::Embedding embedding(std::int64_t rows, std::int64_t width);

/// Draws all matrices of `module` from the normal distribution of this deviation, and sets all biases to 0.
void draw_normal(torch::nn::Module& module, double deviation);

/// Returns the rows (…, width) of `table` for ids (…). On the CPU, a Mistake names the value of `field` that has none.
at::Tensor embedded(const torch::nn::Embedding& table, const at::Tensor& ids, const char* field);

/// Returns the sum (B, L, width) of the embeddings of `tokens` (B, L), and of the positions: `position` (B, L) if the
/// batch has it, and else 0 to L - 1. Throws Mistake for rows that are longer than the table of positions.
at::Tensor embedded_texts(const torch::nn::Embedding& tokens, const torch::nn::Embedding& positions,
                          const NamedTensors& batch);

#endif

}  // namespace flowtrain::nets
