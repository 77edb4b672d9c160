#include "tests/parity/ops.h"

#include <ATen/core/Tensor.h>
#include <c10/util/StringUtil.h>

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

}  // namespace flowtrain::parity
