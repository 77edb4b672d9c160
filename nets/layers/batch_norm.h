#pragma once
// Batch normalisation whose statistics may span processes. Only nets/ includes this file.

#include "nets/layers/module.h"

namespace flowtrain::nets {

/// torch's BatchNorm2d, with the same names and results. If span() is set, train mode takes mean and variance over the
/// rows of all processes, as torch.nn.SyncBatchNorm does: one sum of 2 * channels + 1 doubles in forward, one of 2 *
/// channels floats in backward. It maps (B, C, H, W) to the same shape; B may differ between the processes. Throws
/// Mistake if train mode has one value per channel.
class BatchNorm2dImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  at::Tensor forward(const at::Tensor& x);
  void span(const SumOverProcesses& sum) { sum_ = sum; }

 private:
  SumOverProcesses sum_;
};
TORCH_MODULE(BatchNorm2d);

}  // namespace flowtrain::nets
