#pragma once
// Loads a snapshot's net to continue texts.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/session/session.h"
#include "pipeline/engine/text/text_form.h"
#include "pipeline/inference/predict/input_dataset.h"
#include "stages/model/text_model.h"

namespace flowtrain {

/// The net of a snapshot, in eval mode, with the average of [ema] where validation uses it. The data sets of the run
/// are not opened.
class SnapshotTextModel {
 public:
  /// `config` is the snapshot's. Throws UserError: snapshot for a snapshot that cannot be used; usage for a net that
  /// cannot continue texts, or settings that do not fit.
  SnapshotTextModel(const Config& config, const std::filesystem::path& snapshot, const MakeLearner& make);

  TextModel& model() { return *model_; }

 private:
  const Config config_;
  Session session_{config_};
  std::vector<std::string> classes_;
  std::optional<PixelForm> pixels_;
  LearntParts parts_;
  const std::vector<Input> none_;
  std::optional<InputDataset> form_;  // the sampler makes its rows
  std::unique_ptr<Sampler> sampler_;
  std::optional<SlabLayout> layout_;
  std::unique_ptr<Learner> learner_;
  TextModel* model_ = nullptr;
};

}  // namespace flowtrain
