#pragma once
// Counts the floating-point operations of a forward pass of any net.

#include <memory>

namespace flowtrain::nets {

/// Counts the floating-point operations (a multiply-add is two) of the matrix products, convolutions and fused
/// attention that this thread runs during its lifetime. All else in a net (normalisation, activations, pooling) is
/// small beside them, as in the definition of model FLOPs utilisation (PaLM, arXiv:2204.02311, appendix B). Recurrent
/// layers that cuDNN runs as one operation are not counted. Only one may exist at a time.
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
