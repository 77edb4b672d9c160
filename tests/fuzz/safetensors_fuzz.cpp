#include "pipeline/base/snapshot/safetensors.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(safetensors) {
  std::uint64_t bytes = 0;
  for (const auto& tensor : flowtrain::parse_safetensors(input, "a.safetensors").tensors) {
    bytes += tensor.bytes;
    flowtrain::fuzz::require(tensor.data >= input.data() && tensor.data + tensor.bytes <= input.data() + input.size(),
                             "a tensor lies within the file");
  }
  flowtrain::fuzz::require(bytes <= input.size(), "tensors do not overlap");
}
