#pragma once
// Wires a graph, and draws it: an edge and its arrow in the drawing come from one call, so it shows the true wiring.

// This brings flow::make_edge and its nodes.
#include <oneapi/tbb/flow_graph.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/graph/outlet.h"

namespace flowtrain {

/// Nodes are identified by their addresses: add() each once, then connect() them.
class Wiring {
 public:
  /// `at` is the address that connect() gets for the node: a node of oneTBB, or a thread's queue or Outlet.
  void add(const void* at, std::string name, std::string label, bool thread = false) {
    drawing_.nodes.push_back({name, std::move(label), thread});
    alias(at, std::move(name));
  }
  /// Adds an address to a node: a thread has a queue to take from, and an Outlet.
  void alias(const void* at, std::string name) { names_[at] = std::move(name); }

  /// Connects a node of oneTBB with one output.
  template <class From, class To>
  void connect(From& from, To& to, const std::string& label = {}) {
    oneapi::tbb::flow::make_edge(from, to);
    draw(&from, &to, label);
  }
  /// Connects output `port` of a node with several.
  template <std::size_t port, class From, class To>
  void connect(From& from, To& to, const std::string& label = {}) {
    oneapi::tbb::flow::make_edge(oneapi::tbb::flow::output_port<port>(from), to);
    draw(&from, &to, label);
  }
  /// Connects the outlet of a thread.
  template <class Inlet, class To>
  void connect(Outlet<Inlet>& from, To& to, const std::string& label = {}) {
    from.to = &to;
    draw(&from, &to, label);
  }
  template <class Inlet, class To>
  void connect(Outlets<Inlet>& from, To& to, const std::string& label = {}) {
    from.to.push_back(&to);
    draw(&from, &to, label);
  }

  /// Draws a loader that wired itself. Its nodes' names begin with `prefix`; its end is the node `end` of this drawing,
  /// if that exists, or the loader's own.
  void include(const Drawing& loader, const std::string& prefix, const std::string& end) {
    const auto named = [&](const std::string& name) { return name == loader_end ? end : prefix + name; };
    for (auto& node : loader.nodes)
      if (prefix.empty() || node.name != loader_end)
        drawing_.nodes.push_back({named(node.name), prefix + node.label, node.thread});
    for (auto& edge : loader.edges) drawing_.edges.push_back({named(edge.from), named(edge.to), edge.label});
  }
  /// The node at the end of a loader.
  static constexpr const char* loader_end = "compute";

  const Drawing& drawing() const { return drawing_; }

 private:
  void draw(const void* from, const void* to, const std::string& label) {
    drawing_.edges.push_back({names_.at(from), names_.at(to), label});
  }

  Drawing drawing_;
  std::map<const void*, std::string> names_;
};

/// Returns the drawing in Graphviz's DOT language, whose texts are quoted as JSON's are.
inline std::string to_dot(const Drawing& drawing, const std::string& title) {
  const auto quoted = [](const std::string& text) { return json_text(nlohmann::json(text)); };
  std::string dot = "digraph " + quoted(title) + " {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n";
  for (auto& [name, label, thread] : drawing.nodes)
    dot += "  " + quoted(name) + " [label=" + quoted(label) + (thread ? ", peripheries=2" : "") + "];\n";
  for (auto& [from, to, label] : drawing.edges)
    dot += "  " + quoted(from) + " -> " + quoted(to) + (label.empty() ? "" : " [label=" + quoted(label) + "]") + ";\n";
  return dot + "}\n";
}

}  // namespace flowtrain
