#pragma once
// Finds the iteration, the sample and the layer that a non-finite loss or gradient comes from.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/tools/replay/rerun.h"
#include "stages/model/nonfinite_origin.h"

namespace flowtrain {

/// The first iteration of a run that was not finite.
struct Breakdown {
  std::uint64_t iteration = 0;
  StepStats result;
  std::uint64_t after = 0;  ///< the iteration of the snapshot that was trained from; 0: the initial weights
  struct Sample {
    std::size_t row;         ///< the row in the iteration, as in batch.json
    std::uint64_t position;  ///< the position in the stream
    std::uint64_t id;        ///< the id of the record
    std::string source;      ///< the data set's description of the record
  };
  std::optional<NonFiniteOrigin> origin = {};  ///< empty: the iteration was finite when it was computed again
  std::vector<Sample> samples = {};            ///< the samples to blame; empty: no single sample is
  std::size_t rows = 0;                        ///< the number of rows in their micro-batch
};

/// The outcome of a search.
struct BreakdownSearch {
  int exit_code = 0;                   ///< set if a signal ended the search
  std::uint64_t from = 0, to = 0;      ///< iterations that were trained again
  std::optional<Breakdown> breakdown;  ///< empty: all iterations are finite
};

/// Trains `run` again to the first iteration whose loss or gradients are not finite, `last` at most, and searches that
/// iteration for the cause. Begins at the newest finite snapshot before the first failure in the run's metrics, or at
/// `snapshot`. Throws UserError.
BreakdownSearch find_breakdown(const EarlierRun& run, std::uint64_t last, const std::filesystem::path& snapshot,
                               const MakeLearner& make_learner, Interrupt& interrupt);

/// Formats a few lines for people.
std::string to_text(const Breakdown& breakdown);
/// Formats JSON: iteration, from, loss and grad_norm (null if not finite), phase, operation, layer, after_layer, made
/// {nan, inf, of}, largest_parameter, samples [{row, position, id, source}], samples_by.
std::string to_json(const Breakdown& breakdown);

}  // namespace flowtrain
