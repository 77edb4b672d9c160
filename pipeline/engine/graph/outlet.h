#pragma once
// The end of a thread's work in the graph.

#include <vector>

namespace flowtrain {

/// Leads to another thread's queue, to a node, or to a side branch; connected by Wiring.
template <class Inlet>
struct Outlet {
  Inlet* to = nullptr;  ///< null: leads nowhere
};

/// Leads to several at once.
template <class Inlet>
struct Outlets {
  std::vector<Inlet*> to;
};

}  // namespace flowtrain
