#include "pipeline/engine/report/describe_net.h"

#include <algorithm>

#include "pipeline/base/telemetry/format.h"
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
    if (net.has(file)) key = file;  // the file's key says more
  return concat(net.text(key), ": ", format_count(elements), " parameters in ", net_summary.parameters.size(),
                " tensors, ", format_bytes(bytes), frozen > 0 ? concat("; ", format_count(frozen), " frozen") : "");
}

std::string describe_layers(const LayerList& list) {
  std::size_t width = 5;
  for (auto& layer : list.layers) width = std::max(width, layer.name.size());
  const auto row = [width](const std::string& name, const std::string& kind, const std::string& shape,
                           const std::string& elements, const std::string& bytes, const char* state) {
    return printed("%-*s  %-18s %-20s %12s %10s  %s\n", static_cast<int>(width), name.c_str(), kind.c_str(),
                   shape.c_str(), elements.c_str(), bytes.c_str(), state);
  };
  std::string text = list.note.empty() ? "" : concat("kinds and output shapes are not known: ", list.note, "\n");
  text += row("layer", "kind", "output", "parameters", "bytes", "");
  for (auto& layer : list.layers)
    text += row(layer.name, layer.kind.empty() ? "-" : layer.kind, layer.shape.empty() ? "-" : join(layer.shape, "x"),
                format_count(layer.elements), format_bytes(layer.bytes),
                layer.frozen == 0                ? "trainable"
                : layer.frozen == layer.elements ? "frozen"
                                                 : "partly frozen");
  return text;
}

}  // namespace flowtrain
