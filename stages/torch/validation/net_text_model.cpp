#include "stages/torch/validation/net_text_model.h"

#include <torch/types.h>

#include <optional>
#include <utility>

#include "nets/package/package_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/torch/step/autocast.h"

namespace flowtrain {

NetTextModel::NetTextModel(std::shared_ptr<nets::Net> net, nets::TextNet& text, const LearnerSpec& spec,
                           OwnDraws* draws)
    : net_(std::move(net)),
      text_(text),
      draws_(draws),
      where_(spec.process.device),
      amp_(amp_type(*spec.tables.val.amp)) {}

std::int64_t NetTextModel::vocabulary() const {
  std::optional<OwnDraws::Scope> own;
  if (draws_) own.emplace(*draws_);
  return text_.vocabulary();
}

void NetTextModel::begin_texts(std::int64_t rows) {
  const torch::NoGradGuard no_gradients;
  std::optional<OwnDraws::Scope> own;
  if (draws_) own.emplace(*draws_);
  rows_ = rows;
  memory_.reset();  // before the next one takes as much memory
  memory_ = text_.begin_texts(rows);
}

// The tokens are copied: a net may keep them.
std::span<const float> NetTextModel::continue_texts(std::span<const std::int64_t> tokens) {
  const torch::NoGradGuard no_gradients;
  const auto count = static_cast<std::int64_t>(tokens.size()) / rows_;
  at::Tensor input = at::empty({rows_, count}, at::kLong);
  std::copy(tokens.begin(), tokens.end(), input.mutable_data_ptr<std::int64_t>());
  at::Tensor logits;
  {
    std::optional<OwnDraws::Scope> own;
    if (draws_) own.emplace(*draws_);
    const Autocast cast(amp_, where_.type());
    logits = text_.continue_texts(*memory_, input.to(where_));
  }
  if (logits.dim() != 2 || logits.size(0) != rows_ || logits.size(1) != text_.vocabulary())
    throw UserError(ExitCode::usage, concat("the net gives logits of shape ", logits.sizes(),
                                            " for the next token, not [", rows_, ", ", text_.vocabulary(), "]"));
  logits = logits.to(at::kCPU, at::kFloat).contiguous();
  const auto* const values = logits.const_data_ptr<float>();
  logits_.assign(values, values + logits.numel());
  return logits_;
}

std::unique_ptr<NetTextModel> make_text_model(const LearnerSpec& spec, const std::shared_ptr<nets::Net>& net,
                                              OwnDraws* draws) {
  nets::TextNet* const text = nets::text_net(*net);
  return text ? std::make_unique<NetTextModel>(net, *text, spec, draws) : nullptr;
}

}  // namespace flowtrain
