#pragma once
// Loads a snapshot's net, and brings pictures to it as validation does.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/inference/predict/given_records.h"
#include "pipeline/inference/predict/prediction.h"
#include "pipeline/inference/predict/snapshot_net.h"
#include "stages/model/class_predictor.h"

namespace flowtrain {

/// Limits of the reported predictions.
struct PredictionLimits {
  std::size_t top = 5;       ///< the number of classes
  double least_score = 0.3;  ///< boxes below it are left out
  bool pictures = false;     ///< whether a classifier's predictions have the pictures that it got
};

/// The time that predictions took, without pauses between requests.
struct PredictionTimes {
  std::uint64_t pictures = 0;  ///< the number of inputs that were predicted; damaged ones do not count
  double seconds = 0;          ///< the time from the first byte read to the last prediction
  double net_seconds = 0;      ///< the part of them that the net took
};

class Predictor {
 public:
  /// `config` is the snapshot's; its data sets are not opened. Throws UserError: snapshot for a snapshot that cannot be
  /// used; usage for a net that knows no classes and no tokens and writes no texts, or settings that do not fit.
  Predictor(const Config& config, const std::filesystem::path& snapshot, PredictionLimits limits,
            const MakeLearner& make);

  const std::vector<std::string>& classes() const { return net_.classes(); }
  /// Returns what finds the records of inputs that are no pictures.
  const RecordFinder& records() const { return records_; }
  /// Returns whether the net is a detector; otherwise it is a classifier of rows or of tokens.
  bool detects() const { return detector_ != nullptr; }
  /// Returns whether the net writes texts, by the decoder of [decode].
  bool writes() const { return !net_.config().table("decode").text("name").empty(); }
  /// Returns whether the net classifies tokens: words that it tags, or tokens that it expects in a text.
  bool predicts_tokens() const { return !detects() && token_field_.has_value(); }
  /// Predicts all inputs, and calls `take` with each in their order as soon as its batch is done, also with damaged
  /// ones. Batches are as long as those of validation: with the same pictures in the same order, logits are
  /// bit-identical to those of a validation on the same device.
  void run(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take);

  /// Returns the times of the first batch, in which memory and kernels are prepared.
  const PredictionTimes& warm_up() const { return warm_up_; }
  /// Returns the times of all other batches.
  const PredictionTimes& warm() const { return warm_; }

 private:
  void classify(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take);
  void detect(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take);
  Prediction of_row(const Slab& slab, std::size_t row, const Input& input, const Logits& logits) const;
  void count(std::uint64_t pictures, double seconds, double net_seconds);

  std::unique_ptr<Device> device_;  // it outlives the net
  std::optional<Scheduler> scheduler_;
  SnapshotNet net_;
  const PredictionLimits limits_;
  const RecordFinder records_{net_.config(), net_.parts()};
  std::set<std::string> hidden_;            // fields of targets, which inputs do not have
  std::optional<std::size_t> token_field_;  // the field whose values the net predicts: of labels, or of tokens
  std::uint32_t batch_;
  unsigned workers_;
  ClassPredictor* class_predictor_ = nullptr;
  Detector* detector_ = nullptr;
  PredictionTimes warm_up_, warm_;
};

}  // namespace flowtrain
