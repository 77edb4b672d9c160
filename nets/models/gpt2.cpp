// GPT-2: A. Radford et al., "Language models are unsupervised multitask learners", 2019. Names, shapes and first values
// of the parameters are those of transformers' GPT2LMHeadModel, so that its weights load. The last layer has the
// embedding of the tokens as its weight.

#include "nets/layers/transformer.h"

#if FLOWTRAIN_COMPUTES

#include <cmath>
#include <stdexcept>

#include "nets/layers/attention.h"
#include "nets/text_net.h"
#include "sampling/core/text.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace nn = torch::nn;

namespace {

/// A linear layer whose weight is (in, out).
struct Conv1D final : nn::Module {
  Conv1D(std::int64_t in, std::int64_t out)
      : weight(register_parameter("weight", at::empty({in, out}))), bias(register_parameter("bias", at::empty(out))) {}

  at::Tensor forward(const at::Tensor& x) const {
    return at::addmm(bias, x.flatten(0, 1), weight).view({x.size(0), x.size(1), -1});
  }

  at::Tensor weight, bias;
};

struct Gpt2Attention final : nn::Module {
  explicit Gpt2Attention(const TransformerSize& size)
      : heads(size.heads),
        c_attn(register_module("c_attn", std::make_shared<Conv1D>(size.width, 3 * size.width))),
        c_proj(register_module("c_proj", std::make_shared<Conv1D>(size.width, size.width))) {}

  at::Tensor forward(const at::Tensor& x, const AttentionMask& mask, double dropout, KeyValues* past) const {
    return c_proj->forward(attention(c_attn->forward(x), heads, mask, dropout, past));
  }

  std::int64_t heads;
  std::shared_ptr<Conv1D> c_attn, c_proj;
};

struct Gpt2Mlp final : nn::Module {
  explicit Gpt2Mlp(std::int64_t width)
      : c_fc(register_module("c_fc", std::make_shared<Conv1D>(width, 4 * width))),
        c_proj(register_module("c_proj", std::make_shared<Conv1D>(4 * width, width))) {}

  at::Tensor forward(const at::Tensor& x) const { return c_proj->forward(at::gelu(c_fc->forward(x), "tanh")); }

  std::shared_ptr<Conv1D> c_fc, c_proj;
};

struct Gpt2Block final : nn::Module {
  explicit Gpt2Block(const TransformerSize& size)
      : ln_1(register_module("ln_1", layer_norm(size.width))),
        attn(register_module("attn", std::make_shared<Gpt2Attention>(size))),
        ln_2(register_module("ln_2", layer_norm(size.width))),
        mlp(register_module("mlp", std::make_shared<Gpt2Mlp>(size.width))) {}

  at::Tensor forward(at::Tensor x, const AttentionMask& mask, double dropout, KeyValues* past = nullptr) {
    x = x + at::dropout(attn->forward(ln_1(x), mask, dropout, past), dropout, true);
    return x + at::dropout(mlp->forward(ln_2(x)), dropout, true);
  }

  nn::LayerNorm ln_1;
  std::shared_ptr<Gpt2Attention> attn;
  nn::LayerNorm ln_2;
  std::shared_ptr<Gpt2Mlp> mlp;
};

struct Gpt2Transformer final : nn::Module {
  explicit Gpt2Transformer(const TransformerSize& size)
      : wte(register_module("wte", embedding(size.vocabulary, size.width))),
        wpe(register_module("wpe", embedding(size.length, size.width))) {
    const auto list = register_module("h", nn::ModuleList());
    for (std::int64_t i = 0; i < size.layers; ++i) list->push_back(h.emplace_back(std::make_shared<Gpt2Block>(size)));
    ln_f = register_module("ln_f", layer_norm(size.width));
  }

  /// Returns the logits (…, vocabulary) of what the last layer gives, x (…, width).
  at::Tensor logits(const at::Tensor& x) { return at::linear(ln_f(x), wte->weight).to(at::kFloat); }

  nn::Embedding wte, wpe;
  std::vector<std::shared_ptr<Gpt2Block>> h;
  nn::LayerNorm ln_f{nullptr};
};

struct Gpt2Module final : nn::Module {
  explicit Gpt2Module(const TransformerSize& size)
      : dropout(size.dropout), transformer(register_module("transformer", std::make_shared<Gpt2Transformer>(size))) {
    // The projections onto the residual stream begin smaller, by the number of them (section 2.3 of the paper).
    constexpr double deviation = 0.02;
    draw_normal(*this, deviation);
    for (const auto& block : transformer->h)
      for (const auto& projection : {block->attn->c_proj, block->mlp->c_proj})
        projection->weight.detach().mul_(1 / std::sqrt(2.0 * static_cast<double>(size.layers)));
  }

  /// Maps `tokens` (B, L) to logits (B, L, vocabulary).
  at::Tensor forward(const NamedTensors& batch) {
    const double share = is_training() ? dropout : 0;
    const AttentionMask mask =
        batch.contains("segment") ? within_segments(batch.at("segment"), true) : AttentionMask{.causal = true};
    at::Tensor x = at::dropout(embedded_texts(transformer->wte, transformer->wpe, batch), share, true);
    for (const auto& block : transformer->h) x = block->forward(x, mask, share);
    return transformer->logits(x);
  }

  double dropout;
  std::shared_ptr<Gpt2Transformer> transformer;
};

struct Gpt2Memory final : TextMemory {
  std::vector<KeyValues> layers;
};

class Gpt2 final : public ModuleNet, public TextNet {
 public:
  Gpt2(const Settings& settings, const NetInput& input)
      : Gpt2(std::make_shared<Gpt2Module>(TransformerSize(settings, input))) {}

  /// Gives `logits` (B, vocabulary, L), a view of (B, L, vocabulary), for `tokens` (B, L). If the batch has `segment`
  /// (B, L), the documents of a row do not see each other.
  NamedTensors forward(const NamedTensors& batch) override {
    return {{"logits", module_->forward(batch).transpose(1, 2)}};
  }
  bool may_give(const std::string& output) const override { return output == "logits"; }

  std::int64_t vocabulary() const override { return of().wte->weight.size(0); }
  std::int64_t length() const override { return of().wpe->weight.size(0); }

  std::unique_ptr<TextMemory> begin_texts(std::int64_t) override {
    auto memory = std::make_unique<Gpt2Memory>();
    memory->layers.resize(of().h.size());
    return memory;
  }

  at::Tensor continue_texts(TextMemory& memory, const at::Tensor& tokens) override {
    const at::NoGradGuard no_gradients;
    auto& layers = dynamic_cast<Gpt2Memory&>(memory).layers;
    const std::int64_t before = layers.front().length(), more = tokens.size(1);
    if (before + more > length())
      throw std::invalid_argument(
          concat("a text has ", before + more, " tokens, but the net has ", length(), " positions"));
    at::Tensor x =
        embedded(of().wte, tokens.to(of().wte->weight.device()), "tokens") + of().wpe->weight.narrow(0, before, more);
    for (std::size_t i = 0; i < layers.size(); ++i)
      x = of().h[i]->forward(x, {.causal = true}, /*dropout=*/0, &layers[i]);
    return of().logits(x.select(1, -1));
  }

 private:
  explicit Gpt2(std::shared_ptr<Gpt2Module> module) : ModuleNet(module), module_(std::move(module)) {}
  Gpt2Transformer& of() const { return *module_->transformer; }

  std::shared_ptr<Gpt2Module> module_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(gpt2) {
  parts.nets.add({"gpt2",
                  "GPT-2, which tells each next token of a text; parameters as in transformers",
                  transformer_keys(12, 12, 768),
                  FLOWTRAIN_MAKE([](const Settings& settings, const NetInput& input) {
                    return std::make_unique<Gpt2>(settings, input);
                  }),
                  {.least_side = 0}});
}

}  // namespace flowtrain::nets
