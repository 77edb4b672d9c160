#pragma once
// Copies values from the device to the host.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace flowtrain {

/// Reads small tensors together: one copy from the device, and one wait for it, however many they are. Use: ask() for
/// each, fetch(), then operator[]. As doubles, which hold what is asked for exactly: f32, f64, and whole numbers below
/// 2^53.
class Readout {
 public:
  /// The number of the answer, whose values are in row-major order; an undefined tensor has none. All of one device.
  std::size_t ask(const at::Tensor& values);
  /// Once. Waits for the device, unless nothing was asked for.
  void fetch();
  /// After fetch().
  std::span<const double> operator[](std::size_t answer) const;
  /// Of an answer with one value.
  double one(std::size_t answer) const { return (*this)[answer].front(); }

 private:
  std::vector<at::Tensor> asked_;
  std::vector<std::size_t> begins_{0};  // of the answers, and where the last one ends
  at::Tensor values_;
};

}  // namespace flowtrain
