#pragma once
// Lets code without torch continue texts with a net.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <memory>
#include <optional>
#include <vector>

#include "nets/net.h"
#include "nets/text_net.h"
#include "stages/model/learner_spec.h"
#include "stages/model/text_model.h"
#include "stages/torch/validation/own_draws.h"

namespace flowtrain {

/// Continues texts with a net that is in eval mode. The thread that calls has set up whatever the net's device needs.
class NetTextModel final : public TextModel {
 public:
  /// `text` is the same net, or a part of it, as one that continues texts. It draws from `draws`, which must outlive
  /// this; null: from the process's generators.
  NetTextModel(std::shared_ptr<nets::Net> net, nets::TextNet& text, const LearnerSpec& spec, OwnDraws* draws);

  std::int64_t vocabulary() const override;
  std::int64_t length() const override { return text_.length(); }
  void begin_texts(std::int64_t rows) override;
  /// Throws UserError(usage) if the net gives logits of another shape.
  std::span<const float> continue_texts(std::span<const std::int64_t> tokens) override;
  void end_texts() override { memory_.reset(); }

 private:
  const std::shared_ptr<nets::Net> net_;
  nets::TextNet& text_;
  OwnDraws* const draws_;
  const at::Device where_;
  const std::optional<at::ScalarType> amp_;  // val.amp
  std::int64_t rows_ = 0;
  std::unique_ptr<nets::TextMemory> memory_;
  std::vector<float> logits_;
};

/// Returns the net as one that continues texts; null if it cannot. NetTextModel explains `draws`.
std::unique_ptr<NetTextModel> make_text_model(const LearnerSpec& spec, const std::shared_ptr<nets::Net>& net,
                                              OwnDraws* draws = nullptr);

}  // namespace flowtrain
