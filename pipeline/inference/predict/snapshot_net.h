#pragma once
// Loads a snapshot's net, without the data sets of its run.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/inference/predict/input_dataset.h"

namespace flowtrain {

/// The net of a snapshot, in eval mode, with the average of [ema] where validation uses it, and the rows that it takes.
class SnapshotNet {
 public:
  /// Reads the snapshot's state; `config` is its own. Metrics, groups and pictures of validations are left out, as
  /// nothing is measured. Throws UserError(snapshot).
  SnapshotNet(const Config& config, const std::filesystem::path& snapshot);

  const Config& config() const { return config_; }
  const Session& session() const { return session_; }
  /// Returns the classes of the run's data, in label order.
  const std::vector<std::string>& classes() const { return classes_; }
  const std::optional<PixelForm>& pixels() const { return pixels_; }
  const LearntParts& parts() const { return parts_; }

  /// Makes the sampler, and the layout of batches of `rows` rows. Throws UserError(usage).
  void lay_out(std::uint32_t rows);
  const Sampler& sampler() const { return *sampler_; }
  const SlabLayout& layout() const { return *layout_; }

  /// Makes the net after lay_out(), and loads it. `validates`: it gets batches of the layout as in validation. Throws
  /// UserError: snapshot for one that cannot be used; usage for settings that do not fit.
  Learner& load(const MakeLearner& make, bool validates);

 private:
  const Config config_;
  Session session_{config_};
  std::optional<OpenSnapshot> opened_;  // until it is loaded
  std::vector<std::string> classes_;
  std::optional<PixelForm> pixels_;
  LearntParts parts_;
  const std::vector<Input> none_;
  std::optional<InputDataset> form_;  // the sampler makes its rows
  std::unique_ptr<Sampler> sampler_;
  std::optional<SlabLayout> layout_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace flowtrain
