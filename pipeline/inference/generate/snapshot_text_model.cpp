#include "pipeline/inference/generate/snapshot_text_model.h"

#include <utility>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// Drops the metrics, which measure nothing here.
Config without_measures(const Config& config) {
  return config.with("val", "metrics", std::vector<std::string>())
      .with("val", "group_by", std::string())
      .with("val", "flip", false)
      .with("val", "pictures", std::int64_t{0});
}

}  // namespace

SnapshotTextModel::SnapshotTextModel(const Config& config, const std::filesystem::path& snapshot,
                                     const MakeLearner& make)
    : config_(without_measures(config)) {
  const OpenSnapshot opened = open_snapshot(snapshot);
  RunState state = RunState::from_json(opened.state_json);
  classes_ = std::move(state.inputs.classes);
  pixels_ = state.inputs.pixels;
  parts_ = LearntParts::of(config_, std::move(state.inputs.parts));
  form_.emplace(none_, classes_, pixels_, parts_);
  sampler_ = make_sampler(config_, {.dataset = *form_, .training = false, .needs_targets = false});
  layout_.emplace(sampler_->fields(), 1);
  LearnerSpec spec = session_.learner_spec(*layout_, config_);
  spec.data.class_names = classes_;
  spec.data.classes = static_cast<std::int64_t>(classes_.size());
  learner_ = make(spec);
  learner_->load_state({.model = read_model(opened, validates_average(config_))});
  learner_->begin_validation();
  auto* const texts = dynamic_cast<TextValidator*>(learner_.get());
  model_ = texts ? texts->text_model() : nullptr;
  if (!model_)
    throw UserError(ExitCode::usage,
                    snapshot.string() + ": its net '" + config_.table("net").text("name") + "' cannot continue texts",
                    "use the run of a language model");
}

}  // namespace flowtrain
