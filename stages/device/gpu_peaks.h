#pragma once
// The highest rates of GPUs, the reference for model FLOPs utilisation.

#include <string>

namespace flowtrain {

/// Returns the rate of dense matrix products of a GPU, in floating-point operations per second, as its data sheet
/// states it; 0 if not known. `name` is the driver's, "NVIDIA H100 80GB HBM3". `half` asks for bf16 or fp16 with sums
/// in fp32; otherwise it is single precision, on the tensor cores (TF32) if the GPU has them for it.
double peak_flops(const std::string& name, bool half);

}  // namespace flowtrain
