#include "pipeline/graph/drawing.h"

namespace flowtrain {

std::string to_dot(const Drawing& drawing, const std::string& title) {
  auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
      if (c == '\n')
        out += "\\n";
      else if (c == '"' || c == '\\')
        (out += '\\') += c;
      else
        out += c;
    }
    return out + "\"";
  };
  std::string dot = "digraph " + quoted(title) + " {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n";
  for (auto& node : drawing.nodes)
    dot += "  " + quoted(node.name) + " [label=" + quoted(node.label) + (node.thread ? ", peripheries=2" : "") + "];\n";
  for (auto& edge : drawing.edges)
    dot += "  " + quoted(edge.from) + " -> " + quoted(edge.to) +
           (edge.label.empty() ? "" : " [label=" + quoted(edge.label) + "]") + ";\n";
  return dot + "}\n";
}

}  // namespace flowtrain
