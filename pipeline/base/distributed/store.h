#pragma once
// The store where ranks meet, and what they leave there for each other. Within this folder.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <string>
#include <vector>

#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/distributed/timeouts.h"
#include "pipeline/base/launch/rank_info.h"
#include "stages/torch/parallel/collective_log.h"

namespace flowtrain {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Opens the TCPStore at host:port, and serves it first where `serves`. Throws UserError(distributed).
StorePtr open_tcp_store(const std::string& host, int port, bool serves, Timeouts::Span timeout);
/// This process is the one that serves the store of its job, until it ends.
bool serves_store(const RankInfo& place);
/// A rank's store; `serves`: at first, see serves_store(). Every connection answers one caller at a time, and may make
/// it wait.
StorePtr open_store(const RankInfo& place, bool serves, Timeouts::Span timeout);
/// Every start of the job has names of its own: what the one before left behind does not concern it.
StorePtr of_start(const StorePtr& store, int restart);

/// Reads the run from the store of all starts; its folder is empty where none is known.
SharedRun shared_run(c10d::Store& store);
void set_shared_run(c10d::Store& store, const SharedRun& run);

/// What a rank writes into the store with each beat.
struct Beat {
  std::uint64_t count = 0;
  std::string host;
  CollectiveLog::Position at;  ///< among its collectives
};
void set_beat(c10d::Store& store, int rank, const Beat& beat);
/// Empty (count 0) where that rank has not come yet.
Beat beat_of(c10d::Store& store, int rank);
/// The last beat of one that has no more to do.
constexpr std::uint64_t last_beat = ~std::uint64_t{0};

/// "rank 1 on node7".
std::string rank_and_host(int rank, const Beat& beat);
/// ", last seen at iteration 57, in …"; empty where nothing is known.
std::string last_seen(const Beat& beat);

/// "rank 1 on node7 does not answer any more, last seen at …".
std::string is_silent(int rank, const Beat& beat);
/// Where this rank and another one have come to different collectives: what each is in, as collectives of one number
/// are one and the same. Empty where they have not, or nothing is known.
std::string parted_ways(int own_rank, const CollectiveLog& own, int rank, const Beat& beat);

/// The first failure is the one that counts; its hint goes with it, as another rank may be the one that shows it.
void report_failure(c10d::Store& store, const std::string& what, const std::string& hint = {});
/// The first one reported, or empty.
std::string reported_failure(c10d::Store& store);
/// The hint of the first one reported, or empty.
std::string reported_hint(c10d::Store& store);
/// Whether this process is the first to show the failure: once on every terminal. Ranks that our launcher started share
/// their node's, others are taken to share one.
bool is_first_to_show(c10d::Store& store, bool own_launcher, int node);

/// Counters in the store: ranks that have left, having read all that they need, and launchers that have read a failure.
inline const std::string ranks_left = "left", launchers_heard = "heard";
/// For the process that serves the store: waits until the counter is at `many`, but no longer than `patience`.
void wait_for_count(c10d::Store& store, const std::string& what, int many, Timeouts::Span patience);

}  // namespace flowtrain
