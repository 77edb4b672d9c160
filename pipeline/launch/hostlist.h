#pragma once
// Slurm's short forms for many nodes.

#include <string>
#include <vector>

namespace flowtrain {

/// The hosts of a Slurm node list ("gpu[01-03,07],cpu2-[1-2]x"; see `scontrol show hostnames`), in its order. Leading
/// zeros of a range's first number are its width. Throws UserError(distributed) for unbalanced brackets, what is no
/// range, and more than a million hosts.
std::vector<std::string> expand_hostlist(const std::string& list);

/// Tasks on the node at `node`, from 0, of a list such as "2(x3),1": two on each of three nodes, then one (the form of
/// SLURM_TASKS_PER_NODE). Throws UserError(distributed) for another form, or where the list has no such node.
int tasks_on_node(const std::string& list, int node);

}  // namespace flowtrain
