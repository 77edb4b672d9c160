// A training step for recordings of which few have a transcript: the loss of those, and the consistency of the others.
//
//     torch=$(flowtrain info | python3 -c 'import json, sys; print(json.load(sys.stdin)["torch_folder"])')
//     include="-I. -isystem $torch/include -isystem $torch/include/torch/csrc/api/include"
//     g++ -std=c++20 -O2 -fPIC -shared $include examples/semi_supervised_speech/consistency.cpp -o consistency.so
//
// The commands are for flowtrain's root. What the net says of an unlabelled recording is what it is to say of the same
// recording with hidden frames and with dropout, where it is certain (K. Sohn et al., FixMatch, NeurIPS 2020; frames
// are hidden as by D. S. Park et al., SpecAugment, Interspeech 2019).
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "nets/net.h"
#include "nets/steps/make.h"
#include "pipeline/plugin.h"

using namespace flowtrain;

namespace {

/// The fields of a group without its name: `labelled.features` becomes `features`.
nets::NamedTensors fields_of(const nets::NamedTensors& batch, const std::string& group) {
  nets::NamedTensors own;
  for (const auto& [name, tensor] : batch)
    if (name.starts_with(group + ".")) own.add(name.substr(group.size() + 1), tensor);
  return own;
}

class Consistency final : public nets::Step {
 public:
  Consistency(const Settings& settings, const nets::StepInput& input)
      : weight_(settings.real("weight")),
        least_(settings.real("certain")),
        hidden_(settings.integer("hidden")),
        net_(input.net),
        loss_(nets::make_loss(input.loss_settings, {input.classes})) {}

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override {
    return {"consistency", "certain"};
  }
  // The transcripts are counted, so that the groups need not be shared equally by the processes.
  bool counts(const std::string& name) const override { return name == "loss"; }

  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    const nets::NamedTensors labelled = fields_of(batch, "labelled"), unlabelled = fields_of(batch, "unlabelled");
    const auto [distance, certain] = consistency(unlabelled);
    const nets::NamedTensors made = (*loss_)(net_.forward(labelled), labelled);
    return {{"loss", made.at("loss") + weight_ * distance},
            {nets::count_of("loss"), made.at("count")},
            {"consistency", distance.detach()},
            {"certain", certain}};
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    const nets::NamedTensors labelled = fields_of(batch, "labelled");
    nets::NamedTensors outputs = net_.forward(labelled);
    const nets::NamedTensors made = (*loss_)(outputs, labelled);
    return {std::move(outputs), made.at("loss"), made.at("count")};
  }

 private:
  /// Returns the distance of what the net says of hidden and of whole recordings, and the share of certain frames.
  std::pair<at::Tensor, at::Tensor> consistency(nets::NamedTensors unlabelled) {
    at::Tensor target, lengths;
    {
      const c10::NoGradGuard no_gradients;
      net_.train(false);
      const nets::NamedTensors whole = net_.forward(unlabelled);
      net_.train(true);
      target = whole.at("logits").softmax(1);  // (B, K, T)
      lengths = whole.at("logits_length");
    }
    const at::Tensor own = at::arange(target.size(2), lengths.options()).lt(lengths.unsqueeze(1)),
                     certain = own.logical_and(target.amax(1).gt(least_)).to(at::kFloat);  // (B, T)
    unlabelled.set("features", with_hidden_frames(unlabelled.at("features")));
    const at::Tensor said = net_.forward(unlabelled).at("logits").log_softmax(1);
    const at::Tensor distance = -(target * said).sum(1);
    return {(distance * certain).sum() / certain.sum().clamp_min(1), certain.sum() / own.sum().clamp_min(1)};
  }

  /// Sets a stretch of frames to 0, at another place in each row.
  at::Tensor with_hidden_frames(const at::Tensor& features) const {
    const std::int64_t frames = features.size(1);
    const at::Tensor begin = at::randint(std::max<std::int64_t>(1, frames - hidden_ + 1), {features.size(0), 1, 1},
                                         features.options().dtype(at::kLong)),
                     place = at::arange(frames, begin.options()).view({1, frames, 1});
    return features.masked_fill(place.ge(begin).logical_and(place.lt(begin + hidden_)), 0);
  }

  double weight_, least_;
  std::int64_t hidden_;
  nets::Net& net_;
  std::unique_ptr<nets::Loss> loss_;
};

void add_consistency() {
  nets::steps().add({"consistency",
                     "the loss of the group `labelled`, and the consistency of the group `unlabelled`",
                     {{"weight", Kind::real, 1.0, "weight of the consistency", 0, 1000},
                      {"certain", Kind::real, 0.8, "probability from which a frame of the target counts", 0, 1},
                      {"hidden", Kind::integer, std::int64_t{20}, "frames that are hidden", 0, 100000}},
                     [](const Settings& settings, const nets::StepInput& input) {
                       return std::make_unique<Consistency>(settings, input);
                     }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add_consistency)
