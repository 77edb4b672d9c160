#include "pipeline/report/describe_net.h"

#include "pipeline/telemetry/format.h"
#include "sampling/core/say.h"
#include "sampling/core/settings.h"

namespace flowtrain {

std::string describe_net(const Settings& net, const NetFigures& figures) {
  std::uint64_t elements = 0, bytes = 0, frozen = 0;
  for (auto& parameter : figures.parameters) {
    elements += parameter.elements;
    bytes += parameter.bytes;
    if (parameter.optimizer < 0) frozen += parameter.elements;
  }
  std::string name = net.text("name");
  for (auto key : {"script", "plugin"})
    if (name.empty()) name = net.text(key);
  return say(name, ": ", format_count(elements), " parameters in ", figures.parameters.size(), " tensors, ",
             format_bytes(bytes), frozen > 0 ? say("; ", format_count(frozen), " frozen") : "");
}

}  // namespace flowtrain
