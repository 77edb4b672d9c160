#pragma once
// Measuring a net on batches. No torch here; the LibTorch ones are in stages/torch/.

#include <string>
#include <utility>
#include <vector>

#include "stages/loader/slab.h"
#include "stages/model/state.h"

namespace flowtrain {

class Detector;
class Group;
struct ClassTable;

/// Named values, e.g. {"loss", 0.31}, {"accuracy", 0.97}.
using Scalars = std::vector<std::pair<std::string, double>>;

/// Measures a net. One thread at a time.
class Validator {
 public:
  virtual ~Validator() = default;

  /// Eval mode, sums at zero.
  virtual void begin_validation() = 0;
  virtual void validate(Slab& slab) = 0;
  /// Looks through the net as it is, from begin_validation to end_validation; null where the net finds no objects.
  virtual Detector* detector() { return nullptr; }
  /// Means over all rows since begin_validation, of all processes, the loss first; a learner is back in train mode.
  virtual Scalars end_validation() = 0;
  /// Called instead of end_validation() after an error: a learner is back in train mode.
  virtual void leave_validation() {}
  /// What was taken for what in the validation that ended, over all processes; null where val.metrics asks for no
  /// `confusion`.
  virtual const ClassTable* confusion() const { return nullptr; }
};

/// A second net like a learner's, which another thread measures while the learner trains.
class ValidationReplica : public Validator {
 public:
  /// Rank 0's buffers into all learners; then the learner's weights and buffers as they are, averages where its
  /// validation sees those. Compute thread, while nobody measures; a collective of those who train.
  virtual void take() = 0;
  /// Takes a snapshot's weights instead, which rank 0 gives to all. Likewise; throws UserError(snapshot) where names or
  /// shapes differ.
  virtual void load(const std::vector<StateTensor>& model) = 0;
  /// Those who measure together; its collectives are the measuring thread's.
  virtual Group& group() = 0;
};

}  // namespace flowtrain
