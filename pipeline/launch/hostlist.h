#pragma once
// Slurm's short forms for many nodes.

#include <string>

namespace flowtrain {

/// The first host of a Slurm node list: gpu01 of "gpu[01-03,07],cpu2-[1-2]x" (`scontrol show hostnames` prints all).
/// Throws UserError(distributed) where there is none, or brackets that do not begin with a number.
std::string first_host(const std::string& list);

/// Tasks on the node at `node`, from 0, of a list such as "2(x3),1": two on each of three nodes, then one (the form of
/// SLURM_TASKS_PER_NODE). Throws UserError(distributed) for another form, or where the list has no such node.
int tasks_on_node(const std::string& list, int node);

}  // namespace flowtrain
