#pragma once
// Which iteration, which sample and which layer a loss or gradient that is not finite comes from.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/tools/replay/rerun.h"
#include "stages/model/nonfinite_origin.h"

namespace flowtrain {

/// The first iteration of a run that went wrong.
struct Breakdown {
  std::uint64_t iteration = 0;
  StepStats result;
  std::uint64_t after = 0;  ///< the iteration of the snapshot that was trained from; 0: the initial weights
  struct Sample {
    std::size_t row;         ///< of the iteration, as in batch.json
    std::uint64_t position;  ///< in the stream
    std::uint64_t id;        ///< of the record
    std::string source;      ///< as the data set describes it
  };
  std::optional<NonFiniteOrigin> origin = {};  ///< nothing: computed once more, the iteration was finite
  std::vector<Sample> samples = {};            ///< that are to blame; empty: no single one is
  std::size_t rows = 0;                        ///< of the micro-batch that they are in
};

/// What came of a search.
struct Bisection {
  int exit_code = 0;                   ///< of the signal that ended it
  std::uint64_t from = 0, to = 0;      ///< iterations that were trained again
  std::optional<Breakdown> breakdown;  ///< nothing: all of them are finite
};

/// Trains `run` again to the first iteration whose loss or gradients are not finite, `last` at most, and searches that
/// iteration for the cause. Begins at the newest finite snapshot before the first failure in the run's metrics, or at
/// `snapshot`. Throws UserError.
Bisection find_breakdown(const EarlierRun& run, std::uint64_t last, const std::filesystem::path& snapshot,
                         const MakeLearner& make_learner, Interrupt& interrupt);

/// In a few lines, for people.
std::string to_text(const Breakdown& breakdown);
/// For programs: iteration, from, loss and grad_norm (null where not finite), phase, operation, layer, after_layer,
/// made {nan, inf, of}, largest_parameter, samples [{row, position, id, source}], samples_by.
std::string to_json(const Breakdown& breakdown);

}  // namespace flowtrain
