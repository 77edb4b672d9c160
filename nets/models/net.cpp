#include "nets/models/net.h"

namespace flowtrain::nets {

NetSummary summary(const Net& net) {
  NetSummary summary;
  for (const auto& [name, tensor] : net.parameters()) {
    ++summary.tensors;
    summary.parameters += tensor.numel();
    summary.bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return summary;
}

}  // namespace flowtrain::nets
