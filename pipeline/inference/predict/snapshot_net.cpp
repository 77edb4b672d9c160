#include "pipeline/inference/predict/snapshot_net.h"

#include <utility>

#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/fingerprints.h"
#include "pipeline/engine/train/snapshot_branch.h"

namespace flowtrain {
namespace {

// Drops the metrics, which need not fit the net, as nothing is measured.
Config without_metrics(const Config& config) {
  return config.with("val", "metrics", std::vector<std::string>())
      .with("val", "group_by", std::string())
      .with("val", "pictures", std::int64_t{0});
}

}  // namespace

SnapshotNet::SnapshotNet(const Config& config, const std::filesystem::path& snapshot)
    : config_(without_metrics(config)), opened_(open_snapshot(snapshot)) {
  RunState state = RunState::from_json(opened_->state_json);
  warn_of_changed_files(state.inputs, config);
  classes_ = std::move(state.inputs.classes);
  pixels_ = state.inputs.pixels;
  parts_ = LearntParts::of(config, std::move(state.inputs.parts));
}

void SnapshotNet::lay_out(std::uint32_t rows) {
  form_.emplace(none_, classes_, pixels_, parts_);
  sampler_ = make_sampler(config_, {.dataset = *form_, .training = false, .needs_targets = false});
  layout_.emplace(sampler_->fields(), rows);
}

Learner& SnapshotNet::load(const MakeLearner& make, bool validates) {
  LearnerSpec spec = session_.learner_spec(*layout_, config_);
  if (validates) spec.data.val_layout = &*layout_;
  spec.data.class_names = classes_;
  spec.data.classes = static_cast<std::int64_t>(classes_.size());
  learner_ = make(spec);
  learner_->load_state({.model = read_model(*opened_, validates_average(config_))});
  opened_.reset();
  learner_->begin_validation();
  return *learner_;
}

}  // namespace flowtrain
