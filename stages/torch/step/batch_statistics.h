#pragma once
// The running statistics of batch normalisation, taken anew for other weights. This header needs no torch.

#include <cstddef>
#include <memory>
#include <vector>

#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Forward passes of the spec's net with given weights, in train mode; nothing is learned. The statistics become the
/// mean of those of the batches, as torch.optim.swa_utils.update_bn has it. Layers that are frozen keep theirs.
class BatchStatistics {
 public:
  /// `model` must outlive it. Throws UserError: usage for a net that is a script or a package, snapshot where `model`
  /// is not of that net.
  BatchStatistics(const LearnerSpec& spec, const std::vector<StateTensor>& model);
  ~BatchStatistics();

  /// That take statistics.
  std::size_t layers() const;
  void add(Slab& slab);
  /// The weights, with the new statistics.
  std::vector<StateTensor> model() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
