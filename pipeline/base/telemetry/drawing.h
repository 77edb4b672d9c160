#pragma once
// The drawing of a graph that `flowtrain graph` prints.

#include <string>
#include <vector>

namespace flowtrain {

struct GraphNode {
  std::string name, label;
  bool thread = false;  ///< own threads (may block) rather than oneTBB workers
};
struct GraphEdge {
  std::string from, to, label;
};
struct Drawing {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

}  // namespace flowtrain
