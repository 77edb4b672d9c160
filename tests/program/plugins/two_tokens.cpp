// A net for tests of texts: it tells each token by the one before it and the one before that, and takes texts of so
// many tokens.

#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/embedding.h>

#include <stdexcept>

#include "nets/layers/module_net.h"
#include "nets/text_net.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

struct Tokens final : nets::TextMemory {
  at::Tensor all;  ///< (rows, length)
};

class TwoTokens final : public nets::ModuleNet, public nets::TextNet {
 public:
  TwoTokens(std::int64_t ids, std::int64_t length) : TwoTokens(std::make_shared<Layers>(ids), ids, length) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    const at::Tensor& tokens = batch.at("tokens");
    const at::Tensor place = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    const at::Tensor label =
        tokens.masked_fill(place >= batch.at("tokens_length").unsqueeze(1), -100).narrow(1, 1, tokens.size(1) - 1);
    const at::Tensor logits = logits_of(tokens).narrow(1, 0, tokens.size(1) - 1).transpose(1, 2);
    return {{"loss", at::cross_entropy_loss(logits, label, {}, at::Reduction::Mean, -100)}};
  }
  bool may_give(const std::string& output) const override { return output == "loss"; }

  std::int64_t vocabulary() const override { return ids_; }
  std::int64_t length() const override { return length_; }
  std::unique_ptr<nets::TextMemory> begin_texts(std::int64_t rows) override {
    auto memory = std::make_unique<Tokens>();
    memory->all = at::empty({rows, 0}, at::kLong);
    return memory;
  }
  at::Tensor continue_texts(nets::TextMemory& memory, const at::Tensor& tokens) override {
    at::Tensor& all = dynamic_cast<Tokens&>(memory).all;
    all = at::cat({all, tokens}, 1);
    if (all.size(1) > length_) throw std::invalid_argument("the text is longer than the net takes");
    return logits_of(all).select(1, all.size(1) - 1);
  }

 private:
  struct Layers final : torch::nn::Module {
    explicit Layers(std::int64_t ids) {
      last = register_module("last", torch::nn::Embedding(ids, ids));
      earlier = register_module("earlier", torch::nn::Embedding(ids, ids));
    }
    torch::nn::Embedding last{nullptr}, earlier{nullptr};
  };
  TwoTokens(std::shared_ptr<Layers> layers, std::int64_t ids, std::int64_t length)
      : ModuleNet(layers), layers_(std::move(layers)), ids_(ids), length_(length) {}

  at::Tensor logits_of(const at::Tensor& tokens) {
    const at::Tensor before = at::cat({tokens.narrow(1, 0, 1), tokens.narrow(1, 0, tokens.size(1) - 1)}, 1);
    return layers_->last->forward(tokens) + layers_->earlier->forward(before);
  }

  std::shared_ptr<Layers> layers_;
  const std::int64_t ids_, length_;
};

void add() {
  nets::NetEntry entry{"two_tokens",
                       "tells each token by the two before it",
                       {{"length", Kind::integer, std::int64_t{32}, "greatest number of tokens of a text", 1, 1e6}},
                       [](const Settings& settings, const nets::NetInput& input) {
                         return std::make_unique<TwoTokens>(input.vocabulary, settings.integer("length"));
                       }};
  entry.traits.least_side = 0;
  nets::nets().add(std::move(entry));
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
