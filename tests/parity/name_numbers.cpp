#include "tests/parity/name_numbers.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace flowtrain::parity {

std::uint64_t name_hash(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

std::uint32_t name_bits(std::uint64_t hash, std::uint64_t i) {
  std::uint64_t z = hash + (i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 40);
}

at::Tensor uniform_of(const std::string& name, const std::vector<std::int64_t>& sizes, double scale, double shift) {
  at::Tensor tensor = at::empty(sizes, at::kFloat);
  const std::uint64_t hash = name_hash(name);
  float* const values = tensor.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const double u = std::ldexp(name_bits(hash, static_cast<std::uint64_t>(i)), -24);
    values[i] = static_cast<float>(shift + (2 * u - 1) * scale);
  }
  return tensor;
}

void fill_by_name(const std::string& prefix, const std::string& name, at::Tensor tensor) {
  const c10::NoGradGuard no_gradients;
  const auto sizes = tensor.sizes().vec();
  const auto made = [&](double scale, double shift) { return uniform_of(prefix + name, sizes, scale, shift); };
  if (name.ends_with("num_batches_tracked")) {
    tensor.zero_();
  } else if (name.ends_with("running_var")) {
    tensor.copy_(made(.4, 1.2));  // .8 + .8 u
  } else if (tensor.dim() == 4) {
    tensor.copy_(made(std::sqrt(3.0 / static_cast<double>(sizes[1] * sizes[2] * sizes[3])), 0));
  } else if (name.ends_with("weight")) {
    tensor.copy_(made(.25, 1));
  } else {
    tensor.copy_(made(.1, 0));  // bias, running_mean
  }
}

}  // namespace flowtrain::parity
