#pragma once
// Copies values from the device to the host.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace flowtrain {

/// Reads small tensors together: one copy from the device and one wait for it, however many they are. Use: ask() for
/// each, fetch(), then operator[]. Values come as doubles, which hold f32, f64, and whole numbers below 2^53 exactly.
class Readout {
 public:
  /// Returns the number of the answer, whose values are in row-major order; an undefined tensor has none. They share a
  /// device.
  std::size_t ask(const at::Tensor& values);
  /// Reads all answers; called once. It waits for the device, unless there was no ask().
  void fetch();
  /// Returns the values of an answer, after fetch().
  std::span<const double> operator[](std::size_t answer) const;
  /// Returns the value of an answer with one value.
  double one(std::size_t answer) const { return (*this)[answer].front(); }

 private:
  std::vector<at::Tensor> asked_;
  std::vector<std::size_t> begins_{0};  // begins of the answers, and the end of the last one
  at::Tensor values_;
};

}  // namespace flowtrain
