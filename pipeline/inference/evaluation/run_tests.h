#pragma once
// Runs `flowtrain test`: snapshots × sets × settings.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/session/start_options.h"
#include "pipeline/inference/evaluation/compare.h"
#include "pipeline/inference/evaluation/measurement.h"
#include "pipeline/inference/evaluation/test_part.h"
#include "pipeline/inference/evaluation/test_snapshots.h"
#include "stages/core/group.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// A configuration or run to test.
struct TestSubject {
  StartOptions start;  ///< the configuration, or the folder of a run
  SnapshotSelection snapshots = {};
  std::optional<std::filesystem::path> snapshot = {};  ///< if set, only this snapshot, whose configuration `start` has
};

/// The options of `flowtrain test`.
struct TestOptions {
  std::vector<std::string> sets = {};  ///< --sets; empty: see test_sets()
  std::string name = {};               ///< --name: a folder in RUN/test; empty: RUN/test itself
  std::size_t pictures = 0;            ///< --pictures: the number of first samples to show
  std::size_t resamples = 1000;        ///< --resamples: the resamples of the bootstrap that compares two nets
  Group* group = &solo_group();        ///< the processes that share the samples
  unsigned processes_here = 1, local_rank = 0;
  Interrupt* interrupt = nullptr;  ///< may be null
  /// Called on rank 0 for each newly measured part, while its results are in memory. May be null.
  std::function<void(const TestPart&, const Measurement&)> on_measured = {};
};

/// All parts of a test.
struct TestResults {
  std::vector<PartOutcome> outcomes;  ///< ordered by setting, then snapshot, then set
  std::filesystem::path folder;       ///< RUN/test or RUN/test/NAME of the first snapshot's run
};

/// The outcome of comparing a pair of parts.
struct ComparedParts {
  TestPart a;
  Comparison comparison;
};

/// Compares each part of `a` with the one of `b` that has its set and setting, in rank 0 while the others wait
/// (compare_parts). Each of the two is of a single snapshot. `subject`: what `a` is of. Rank 0's result. A collective.
/// Throws UserError: usage where there are several snapshots, or a part has no other.
std::vector<ComparedParts> compare_tests(const TestResults& a, const TestResults& b, const TestSubject& subject,
                                         const TestOptions& options);

/// Measures each part that has no results for the same inputs, in all processes of the group together; rank 0 writes
/// files: a part's folder when it is measured (write_part), and at the end summary.json and summary.csv. The net has
/// the classes that the snapshot's was trained on. A set without samples is left out with a warning. With test.on_error
/// = "skip" an error costs its parts alone. A collective. Throws UserError; EmptyDataset where no set has samples.
TestResults run_tests(const TestSubject& subject, const TestOptions& options, const MakeLearner& make_learner);

}  // namespace flowtrain
