// A transformer that reads whole texts (A. Vaswani et al., NeurIPS 2017), with layer normalisation before attention and
// feed-forward layers (R. Xiong et al., ICML 2020). The layers have the names and equations of torch's
// nn.TransformerEncoder with norm_first=True and activation="gelu".

#include "nets/layers/transformer.h"

#if FLOWTRAIN_COMPUTES
#include <algorithm>
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace nn = torch::nn;

namespace {

struct EncoderLayer final : nn::Module {
  explicit EncoderLayer(const TransformerSize& size)
      : self_attn(register_module("self_attn", std::make_shared<SelfAttention>(size.width, size.heads))),
        linear1(register_module("linear1", nn::Linear(size.width, 4 * size.width))),
        linear2(register_module("linear2", nn::Linear(4 * size.width, size.width))),
        norm1(register_module("norm1", layer_norm(size.width))),
        norm2(register_module("norm2", layer_norm(size.width))) {}

  at::Tensor forward(at::Tensor x, const AttentionMask& mask, double dropout) {
    x = x + at::dropout(self_attn->forward(norm1(x), mask, dropout), dropout, true);
    const at::Tensor inner = at::dropout(at::gelu(linear1(norm2(x))), dropout, true);
    return x + at::dropout(linear2(inner), dropout, true);
  }

  std::shared_ptr<SelfAttention> self_attn;
  nn::Linear linear1, linear2;
  nn::LayerNorm norm1, norm2;
};

/// Returns whether the logits are those of the loss ctc, whose last class is the blank.
bool reads_transcripts(const Settings& settings) { return settings.text("head") == "ctc"; }

/// The part of a row that has logits.
enum class LogitsOf { token, mean_of_row, first_of_row };

LogitsOf logits_of(const Settings& settings, const NetInput& input) {
  const std::string& head = settings.text("head");
  const bool token = head == "auto" ? input.labels > 0 : head != "row";
  if (token) return LogitsOf::token;
  return settings.text("pool") == "first" ? LogitsOf::first_of_row : LogitsOf::mean_of_row;
}

std::int64_t outputs_of(const Settings& settings, const NetInput& input) {
  const bool token = logits_of(settings, input) == LogitsOf::token;
  const std::int64_t outputs = token ? input.labels : input.classes;
  if (outputs < 1)
    throw settings.error("head",
                         token ? "the batches have no field `label` with one label for each token"
                               : "the data has no classes, of which each row could have one",
                         ExitCode::usage,
                         token ? "make the field `label` by the transform `tags` or `masked_lm`"
                               : "add the field `label` (as = \"label\"), or set net.head = \"tokens\"");
  return outputs + (reads_transcripts(settings) ? 1 : 0);
}

class Encoder final : public nn::Module {
 public:
  Encoder(const TransformerSize& size, std::int64_t types, LogitsOf head, std::int64_t outputs)
      : dropout_(size.dropout),
        head_kind_(head),
        tokens_(register_module("tokens", embedding(size.vocabulary, size.width))),
        positions_(register_module("positions", embedding(size.length, size.width))),
        types_(register_module("types", embedding(types, size.width))) {
    const auto list = register_module("layers", nn::ModuleList());
    for (std::int64_t i = 0; i < size.layers; ++i)
      list->push_back(layers_.emplace_back(std::make_shared<EncoderLayer>(size)));
    norm_ = register_module("norm", layer_norm(size.width));
    head_ = register_module("head", nn::Linear(size.width, outputs));
    draw_normal(*this, 0.02);  // BERT begins so, too (J. Devlin et al., NAACL 2019)
  }

  /// Maps `tokens` (B, L) to logits (B, L, outputs), or (B, outputs) if each row has one label.
  at::Tensor forward(const NamedTensors& batch) {
    const double share = is_training() ? dropout_ : 0;
    at::Tensor x = embedded_texts(tokens_, positions_, batch);
    x = x + (batch.contains("type") ? embedded(types_, batch.at("type"), "type") : types_->weight.narrow(0, 0, 1));
    x = at::dropout(x, share, true);
    const AttentionMask mask = mask_of(batch);
    for (const auto& layer : layers_) x = layer->forward(x, mask, share);
    x = norm_(x);
    if (head_kind_ == LogitsOf::mean_of_row) x = mean_of_own(x, batch);
    if (head_kind_ == LogitsOf::first_of_row) x = x.select(1, 0);
    return head_(x).to(at::kFloat);
  }

 private:
  static AttentionMask mask_of(const NamedTensors& batch) {
    if (batch.contains("segment")) return within_segments(batch.at("segment"), /*causal=*/false);
    if (batch.contains("tokens_length")) return within_lengths(batch.at("tokens_length"), batch.at("tokens").size(1));
    return {};
  }

  /// Returns the mean (B, width) over the tokens of each row that are not padding.
  static at::Tensor mean_of_own(const at::Tensor& x, const NamedTensors& batch) {
    if (batch.contains("segment")) return mean_over(x, batch.at("segment").gt(0));
    if (batch.contains("tokens_length")) return mean_over(x, positions_within(batch.at("tokens_length"), x.size(1)));
    return x.mean(1);
  }

  double dropout_;
  LogitsOf head_kind_;
  nn::Embedding tokens_, positions_, types_;
  std::vector<std::shared_ptr<EncoderLayer>> layers_;
  nn::LayerNorm norm_{nullptr};
  nn::Linear head_{nullptr};
};

class EncoderNet final : public ModuleNet {
 public:
  EncoderNet(std::shared_ptr<Encoder> module, bool ctc) : ModuleNet(module), module_(std::move(module)), ctc_(ctc) {}

  /// Gives `logits`: (B, K, L), a view of (B, L, K), or (B, K) if each row has one label. For the loss ctc it gives
  /// `logits_length`, too, if the batch has `tokens_length`.
  NamedTensors forward(const NamedTensors& batch) override {
    const at::Tensor logits = module_->forward(batch);
    NamedTensors outputs{{"logits", logits.dim() == 3 ? logits.transpose(1, 2) : logits}};
    if (ctc_ && batch.contains("tokens_length")) outputs.add("logits_length", batch.at("tokens_length"));
    return outputs;
  }
  bool may_give(const std::string& output) const override {
    return output == "logits" || (ctc_ && output == "logits_length");
  }

 private:
  std::shared_ptr<Encoder> module_;
  const bool ctc_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(encoder) {
  auto keys = transformer_keys(4, 4, 256);
  keys.push_back({.name = "head",
                  .kind = Kind::text,
                  .fallback = std::string("auto"),
                  .help =
                      "logits for each of the `tokens`, with a blank (`ctc`), or for each `row`; auto: as the field "
                      "`label` has them",
                  .choices = {"auto", "tokens", "ctc", "row"}});
  keys.push_back(
      {.name = "pool",
       .kind = Kind::text,
       .fallback = std::string("mean"),
       .help = "value that stands for a row: the `mean` over its tokens without padding, or its `first` token",
       .choices = {"mean", "first"}});
  parts.nets.add(
      {"encoder",
       "transformer that reads whole texts: for classes of texts, tags of tokens, masked tokens, or transcripts",
       std::move(keys),
       FLOWTRAIN_MAKE([](const Settings& settings, const NetInput& input) {
         constexpr std::int64_t usual_types = 2;  // BERT has as many for texts without a second one, too
         return std::make_unique<EncoderNet>(
             std::make_shared<Encoder>(TransformerSize(settings, input), std::max(usual_types, input.types),
                                       logits_of(settings, input), outputs_of(settings, input)),
             reads_transcripts(settings));
       }),
       {.least_side = 0}});
}

}  // namespace flowtrain::nets
