#include "nets/layers/transformer.h"

#include <torch/nn/init.h>

#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {
namespace {

// Returns the value of a key whose default, 0, stands for that of the field `tokens`.
std::int64_t at_least(const Settings& settings, const std::string& key, std::int64_t of_field, const char* what) {
  const std::int64_t value = settings.integer(key);
  if (value == 0 && of_field == 0)
    throw settings.error(key, concat("the batches have no field `tokens` that says the number of ", what),
                         ExitCode::usage,
                         concat("set net.", key, ", or ", key == "vocabulary" ? "vocabulary" : "max",
                                " of the [[field]] `tokens`, or make that field by a tokenizer"));
  if (value > 0 && value < of_field)
    throw settings.error(key, concat(value, " ", what, " are less than the ", of_field, " of the field `tokens`"),
                         ExitCode::usage, concat("leave it out, or set it to ", of_field, " or more"));
  return value > 0 ? value : of_field;
}

}  // namespace

TransformerSize::TransformerSize(const Settings& settings, const NetInput& input)
    : layers(settings.integer("layers")),
      heads(settings.integer("heads")),
      width(settings.integer("width")),
      length(at_least(settings, "length", input.length, "positions")),
      vocabulary(at_least(settings, "vocabulary", input.vocabulary, "ids")),
      dropout(settings.real("dropout")) {
  check_heads(settings);
}

void check_heads(const Settings& settings) {
  const std::int64_t width = settings.integer("width"), heads = settings.integer("heads");
  if (width % heads != 0)
    throw settings.error("width", concat(width, " is not a multiple of net.heads, which is ", heads));
}

SelfAttention::SelfAttention(std::int64_t width, std::int64_t of_heads)
    : heads(of_heads),
      in_proj_weight(register_parameter("in_proj_weight", at::empty({3 * width, width}))),
      in_proj_bias(register_parameter("in_proj_bias", at::empty(3 * width))),
      out_proj(register_module("out_proj", torch::nn::Linear(width, width))) {}

at::Tensor SelfAttention::forward(const at::Tensor& x, const AttentionMask& mask, double dropout) {
  return out_proj(attention(at::linear(x, in_proj_weight, in_proj_bias), heads, mask, dropout));
}

at::Tensor mean_over(const at::Tensor& x, const at::Tensor& own) {
  const at::Tensor sums = at::bmm(own.to(x.scalar_type()).unsqueeze(1), x).squeeze(1);
  const at::Tensor count = own.sum(1, /*keepdim=*/true).clamp_min(1);  // i64: half precision counts to 256 or 2048
  return (sums.to(at::promote_types(x.scalar_type(), at::kFloat)) / count).to(x.scalar_type());
}

torch::nn::LayerNorm layer_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

torch::nn::Embedding embedding(std::int64_t rows, std::int64_t width) {
  return torch::nn::Embedding(torch::nn::EmbeddingOptions(rows, width)._weight(at::empty({rows, width})));
}

void draw_normal(torch::nn::Module& module, double deviation) {
  const at::NoGradGuard no_gradients;
  for (auto& item : module.named_parameters())
    if (item.value().dim() > 1)
      torch::nn::init::normal_(item.value(), 0, deviation);
    else if (item.key().ends_with("bias"))
      item.value().zero_();
}

at::Tensor embedded(const torch::nn::Embedding& table, const at::Tensor& ids, const char* field) try {
  return at::embedding(table->weight, ids);
} catch (const c10::Error&) {
  if (!ids.is_cpu() || ids.numel() == 0) throw;
  const std::int64_t rows = table->weight.size(0);
  const auto least = ids.min().item<std::int64_t>(), most = ids.max().item<std::int64_t>();
  if (least >= 0 && most < rows) throw;
  throw Mistake(
      concat("the field `", field, "` has the value ", least < 0 ? least : most, ", but the net knows 0 to ", rows - 1),
      "make the net for the vocabulary of the field");
}

at::Tensor embedded_texts(const torch::nn::Embedding& tokens, const torch::nn::Embedding& positions,
                          const NamedTensors& batch) {
  const at::Tensor& ids = batch.at("tokens");
  if (ids.dim() != 2)
    throw Mistake(c10::str("tokens have shape ", ids.sizes(), ", expected (B, L)"), "give the field one axis");
  const at::Tensor& places = positions->weight;
  if (ids.size(1) > places.size(0))
    throw Mistake(concat("a row has ", ids.size(1), " tokens, but the net has ", places.size(0), " positions"),
                  "make rows shorter (max), or net.length greater");
  return embedded(tokens, ids, "tokens") + (batch.contains("position")
                                                ? embedded(positions, batch.at("position"), "position")
                                                : places.narrow(0, 0, ids.size(1)));
}

}  // namespace flowtrain::nets
