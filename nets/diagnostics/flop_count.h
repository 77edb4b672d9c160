#pragma once
// How many floating-point operations a forward pass takes, whatever the net is made of.

#include <memory>

namespace flowtrain::nets {

/// Counts the operations that this thread runs while it lives, in floating-point operations (a multiply-add is two):
/// matrix products, convolutions and fused attention. What else a net does (normalisation, activations, pooling) is
/// small beside them, as in the definition of model FLOPs utilisation (PaLM, arXiv:2204.02311, appendix B). Recurrent
/// layers that cuDNN runs as one operation are not seen. One at a time.
class FlopCount {
 public:
  FlopCount();
  ~FlopCount();
  FlopCount(const FlopCount&) = delete;

  double flops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::nets
