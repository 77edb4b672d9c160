#include "tests/parity/ops.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/util/StringUtil.h>

#include "stages/device/device.h"

namespace flowtrain::parity {

at::Tensor input(const NamedTensors& in, const std::string& name, at::ScalarType dtype,
                 const std::vector<std::int64_t>& sizes) {
  at::Tensor tensor = in.at(name);
  if (sizes.empty() && tensor.dim() == 1 && tensor.numel() == 1) tensor = tensor.squeeze(0);
  bool fits = tensor.scalar_type() == dtype && tensor.dim() == static_cast<std::int64_t>(sizes.size());
  for (std::size_t i = 0; fits && i < sizes.size(); ++i)
    fits = sizes[i] < 0 || tensor.size(static_cast<std::int64_t>(i)) == sizes[i];
  if (!fits)
    throw BadCall(c10::str("tensor ", name, " is ", at::toString(tensor.scalar_type()), " ", tensor.sizes(),
                           ", expected ", at::toString(dtype), " ", at::IntArrayRef(sizes)));
  return tensor;
}

at::Device device_named(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  if (name != "cuda" && !name.starts_with("cuda:")) throw BadCall("device " + name + ": expected cpu, cuda or cuda:N");
  const at::Device device(name == "cuda" ? "cuda:0" : name);
  static const auto gpu = make_cuda_device(device.index(), 1);  // loads CUDA into LibTorch
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  return device;
}

NamedTensors on_device(const NamedTensors& tensors, at::Device device) {
  NamedTensors moved;
  for (auto& [name, tensor] : tensors) moved.set(name, tensor.to(device));
  return moved;
}

}  // namespace flowtrain::parity
