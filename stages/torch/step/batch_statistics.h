#pragma once
// Computes the running statistics of batch normalisation anew for other weights. This header needs no torch.

#include <cstddef>
#include <memory>
#include <vector>

#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Runs forward passes of the spec's net with given weights, in train mode, without learning. The statistics become the
/// mean of the batches' own, as in torch.optim.swa_utils.update_bn. Frozen layers keep theirs.
class BatchStatistics {
 public:
  /// `model` must outlive it. Throws UserError: usage for a script or package, snapshot if `model` belongs to another
  /// net.
  BatchStatistics(const LearnerSpec& spec, const std::vector<StateTensor>& model);
  ~BatchStatistics();

  /// Returns the number of layers that take statistics.
  std::size_t layers() const;
  void add(Slab& slab);
  /// Returns the weights with the new statistics.
  std::vector<StateTensor> model() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
