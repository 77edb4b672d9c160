#pragma once
// Measures a net on batches. This file needs no torch; the LibTorch validators are in stages/torch/.

#include <string>
#include <utility>
#include <vector>

#include "stages/loader/slab.h"
#include "stages/model/state.h"

namespace flowtrain {

class Detector;
class Group;
struct ClassTable;

/// Named values, for example {"loss", 0.31}, {"accuracy", 0.97}.
using Scalars = std::vector<std::pair<std::string, double>>;

/// Measures a net. One thread at a time.
class Validator {
 public:
  virtual ~Validator() = default;

  /// Switches to eval mode and sets all sums to zero.
  virtual void begin_validation() = 0;
  virtual void validate(Slab& slab) = 0;
  /// Returns a detector with the net, between begin_validation() and end_validation(); null if the net finds no
  /// objects.
  virtual Detector* detector() { return nullptr; }
  /// Returns means over all ranks' rows since begin_validation(), loss first; a learner is back in train mode.
  virtual Scalars end_validation() = 0;
  /// Replaces end_validation() after an error: a learner is back in train mode.
  virtual void leave_validation() {}
  /// Returns the ended validation's confusion matrix, over all processes; null if val.metrics has no `confusion`.
  virtual const ClassTable* confusion() const { return nullptr; }
};

/// A replica of a learner's net, which another thread measures while the learner trains.
class ValidationReplica : public Validator {
 public:
  /// Copies rank 0's buffers to all learners, and then the learner's weights and buffers to the replica; averages if
  /// validation uses them. Compute thread, while nobody measures; a collective of the training processes.
  virtual void take() = 0;
  /// Loads a snapshot's weights, which rank 0 gives to all, else as take(). Throws UserError(snapshot) unless names and
  /// shapes agree.
  virtual void load(const std::vector<StateTensor>& model) = 0;
  /// Returns the group that measures together; the measuring thread calls its collectives.
  virtual Group& group() = 0;
};

}  // namespace flowtrain
