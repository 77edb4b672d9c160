#include "pipeline/report/describe_net.h"

#include "pipeline/telemetry/format.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

std::uint64_t weight_bytes(const NetSummary& net_summary) {
  std::uint64_t bytes = net_summary.buffer_bytes;
  for (auto& parameter : net_summary.parameters) bytes += parameter.bytes;
  return bytes;
}

std::string describe_net(const Settings& net, const NetSummary& net_summary) {
  std::uint64_t elements = 0, bytes = 0, frozen = 0;
  for (auto& parameter : net_summary.parameters) {
    elements += parameter.elements;
    bytes += parameter.bytes;
    if (parameter.optimizer < 0) frozen += parameter.elements;
  }
  std::string key = "name";
  for (const char* file : {"script", "package"})
    if (net.has(file)) key = file;  // a file says more
  return concat(net.text(key), ": ", format_count(elements), " parameters in ", net_summary.parameters.size(),
                " tensors, ", format_bytes(bytes), frozen > 0 ? concat("; ", format_count(frozen), " frozen") : "");
}

}  // namespace flowtrain
