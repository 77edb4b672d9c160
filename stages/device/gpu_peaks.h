#pragma once
// The highest rates of GPUs, by which model FLOPs utilisation is measured.

#include <string>

namespace flowtrain {

/// Dense matrix products of a GPU, floating-point operations per second, as its data sheet states them; `name`: as the
/// driver gives it, "NVIDIA H100 80GB HBM3". `half`: bf16 or fp16 with sums in fp32; otherwise single precision, on the
/// tensor cores (TF32) where the GPU has them for it. 0: not known.
double peak_flops(const std::string& name, bool half);

}  // namespace flowtrain
