#include "pipeline/base/snapshot/weights_file.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(torch_archive) {
  unsigned sum = 0;
  for (const auto& tensor : flowtrain::parse_torch_weights(input, "a.pth").tensors)
    for (std::uint64_t i = 0; i < tensor.bytes; ++i) sum += std::to_integer<unsigned>(tensor.data[i]);
  [[maybe_unused]] volatile unsigned read = sum;
}
