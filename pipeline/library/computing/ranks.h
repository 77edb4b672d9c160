#pragma once
// Functions for commands that several processes run together: they start a node's ranks, and run a rank's own part.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/launch/rank_info.h"
#include "sampling/io/held_folder.h"

namespace flowtrain::computing {

/// Starts this node's ranks as processes that run `flowtrain <command> <arguments>`. Returns their exit code.
int start_ranks(const SpawnPlan& plan, const Config& config, const std::string& command,
                const std::vector<std::string>& arguments);

/// The work of a rank as a member of its job. Once it has set `records`, and training has begun there, the rank's last
/// collectives are written to that folder if it fails.
using RankBody = std::function<int(GroupSession& membership, std::unique_ptr<HeldFolder>& records)>;

/// Joins the job and runs `body`. An error that all ranks have, or that one causes for all, is reported once.
int run_rank(const RankInfo& place, const Config& config, const RankBody& body);

}  // namespace flowtrain::computing
