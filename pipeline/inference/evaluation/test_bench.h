#pragma once
// The session with which a test measures: the data of a configuration, and a net for them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/session/session.h"
#include "pipeline/inference/evaluation/run_tests.h"

namespace flowtrain {

/// A configuration's data and net, for snapshots of nets that learnt from data of the same classes and form. Sets
/// without samples are left out with a warning. The processes of the group take whole batches of each set in turn.
class TestBench {
 public:
  /// `config` and `options` must outlive it. Throws UserError; EmptyDataset where no set has samples.
  TestBench(const Config& config, const TestOptions& options, const std::vector<SetConfig>& sets,
            const LearntData& learnt);

  const Session& session() const { return session_; }

  /// Returns the learner, which the first call makes. The first call is a collective.
  Learner& learner(const MakeLearner& make);

  /// Warns of sets with samples that the net was trained on, if the training data are on this machine.
  void warn_of_training_samples() const;

 private:
  Session session_;
  std::optional<SlabLayout> layout_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace flowtrain
