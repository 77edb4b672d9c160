#pragma once
// Runs `flowtrain predict`: classifies pictures with a snapshot's net, or detects objects in them.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/inference/predict/predictor.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// The request of a command line. An output path "-" is standard output, an empty one asks for none.
struct PredictRequest {
  const Config& config;  ///< the snapshot's
  std::filesystem::path snapshot;
  std::vector<std::string> inputs = {};  ///< see InputFinder::find(); "-": a list of them on standard input
  std::string watch = {};                ///< folder; empty: none
  PredictionLimits limits = {};
  bool logits = false;  ///< in JSON, all logits
  std::string csv = {}, jsonl = {};
  std::filesystem::path pictures = {};  ///< folder for pictures with boxes; empty: none
  Interrupt* interrupt = nullptr;       ///< ends the watch; not null if a folder is watched
};

/// Predicts on the inputs, then on what appears in the watched folder, until a signal arrives. With neither,
/// answers requests on standard input (answer_requests). A table goes to standard output where neither CSV nor JSON
/// is asked for. Names damaged inputs and goes on; returns ExitCode::data where there were some, and tells what a
/// picture took. Throws UserError: usage for requests that contradict each other or the net, data where the inputs name
/// nothing at all, snapshot for outputs that cannot be written, and what Predictor throws.
ExitCode predict(const PredictRequest& request, const MakeLearner& make);

}  // namespace flowtrain
