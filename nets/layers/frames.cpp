#include "nets/layers/frames.h"

#include "nets/layers/transformer.h"
#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {
namespace {

std::int64_t known_features(const Settings& settings, const NetInput& input) {
  if (input.features < 1)
    throw settings.error("name", "the batches have no field `features` with the values of each frame", ExitCode::usage,
                         "make the field `features` from recordings by the transform `logmel` or `mfcc`");
  return input.features;
}

bool has_ctc_head(const Settings& settings, const NetInput& input) {
  const std::string& head = settings.text("head");
  return head == "auto" ? input.labels > 0 : head == "ctc";
}

std::int64_t outputs_of_head(const Settings& settings, const NetInput& input, bool ctc) {
  const std::int64_t known = ctc ? input.labels : input.classes;
  if (known < 1)
    throw settings.error("head",
                         ctc ? "the batches have no field `label` with transcripts, whose number of labels is known"
                             : "the data has no classes, of which each row could have one",
                         ExitCode::usage,
                         ctc ? "make the field `label` from the part `text` by the transform `tokens`"
                             : "add the field `label` (as = \"label\"), or set net.head = \"ctc\"");
  return known + (ctc ? 1 : 0);
}

class FramesNet final : public ModuleNet {
 public:
  explicit FramesNet(std::shared_ptr<FramesModule> module) : ModuleNet(module), module_(std::move(module)) {}

  NamedTensors forward(const NamedTensors& batch) override { return module_->forward(batch); }
  bool may_give(const std::string& output) const override {
    return output == "logits" || (output == "logits_length" && module_->gives_lengths());
  }

 private:
  std::shared_ptr<FramesModule> module_;
};

}  // namespace

at::Tensor Frames::own() const { return positions_within(lengths, values.size(1)); }

FramesModule::FramesModule(const Settings& settings, const NetInput& input)
    : features_(known_features(settings, input)),
      ctc_(has_ctc_head(settings, input)),
      outputs_(outputs_of_head(settings, input, ctc_)) {}

void FramesModule::register_head(std::int64_t width) {
  head_ = register_module("head", torch::nn::Linear(width, outputs_));
}

NamedTensors FramesModule::forward(const NamedTensors& batch) {
  const at::Tensor& given = batch.at("features");
  if (given.dim() != 3 || given.size(2) != features_)
    throw Mistake(c10::str("features have shape ", given.sizes(), ", expected (B, T, ", features_, ")"),
                  "give the net the frames that it was made for");
  const Frames frames = encode({given, batch.contains("features_length") ? batch.at("features_length")
                                                                         : at::full({given.size(0)}, given.size(1),
                                                                                    given.options().dtype(at::kLong))});
  if (!ctc_) return {{"logits", head_(mean_over(frames.values, frames.own())).to(at::kFloat)}};
  return {{"logits", head_(frames.values).to(at::kFloat).transpose(1, 2)}, {"logits_length", frames.lengths}};
}

std::unique_ptr<Net> as_net(std::shared_ptr<FramesModule> module) {
  return std::make_unique<FramesNet>(std::move(module));
}

}  // namespace flowtrain::nets
