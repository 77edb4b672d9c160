#pragma once
// The store where ranks meet, and the entries that they leave there for each other. Within this folder.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <string>
#include <vector>

#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/distributed/timeouts.h"
#include "pipeline/base/launch/rank_info.h"
#include "stages/torch/parallel/collective_log.h"

namespace flowtrain {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Opens the TCPStore at host:port, and serves it first if `serves`. Throws UserError(distributed).
StorePtr open_tcp_store(const std::string& host, int port, bool serves, Timeouts::Span timeout);
/// Returns whether this process serves the store of its job, until it ends.
bool serves_store(const RankInfo& place);
/// Opens a rank's store; `serves` is serves_store(). Every connection answers one caller at a time, and the next one
/// waits.
StorePtr open_store(const RankInfo& place, bool serves, Timeouts::Span timeout);
/// Returns a store with names of its own for this start of the job, so that entries of the start before do not matter.
StorePtr of_start(const StorePtr& store, int restart);

/// Reads the run from the store of all starts; its folder is empty if none is known.
SharedRun shared_run(c10d::Store& store);
void set_shared_run(c10d::Store& store, const SharedRun& run);

/// A rank's entry in the store for each beat.
struct Beat {
  std::uint64_t count = 0;
  std::string host;
  CollectiveLog::Position at;  ///< position among its collectives
};
void set_beat(c10d::Store& store, int rank, const Beat& beat);
/// Returns a rank's last beat; empty (count 0) if it has not come yet.
Beat beat_of(c10d::Store& store, int rank);
/// The last beat of a rank that has finished.
constexpr std::uint64_t last_beat = ~std::uint64_t{0};

/// Returns "rank 1 on node7".
std::string rank_and_host(int rank, const Beat& beat);
/// Returns ", last seen at iteration 57, in …"; empty if not known.
std::string last_seen(const Beat& beat);

/// Returns "rank 1 on node7 does not answer any more, last seen at …".
std::string describe_silence(int rank, const Beat& beat);
/// Describes two ranks that have come to different collectives, since collectives of one number must be one and the
/// same. It is empty if they agree, or nothing is known.
std::string describe_divergence(int own_rank, const CollectiveLog& own, int rank, const Beat& beat);

/// Reports a failure; the first one counts. Its hint goes with it, as another rank may show it.
void report_failure(c10d::Store& store, const std::string& what, const std::string& hint = {});
/// Returns the first one reported, or empty.
std::string reported_failure(c10d::Store& store);
/// Returns the hint of the first one reported, or empty.
std::string reported_hint(c10d::Store& store);
/// Returns whether this process is the first to show the failure: once on every terminal. Ranks that our launcher
/// started share their node's, others are assumed to share one.
bool is_first_to_show(c10d::Store& store, bool own_launcher, int node);

/// Counters in the store: ranks that have left, having read all that they need, and launchers that have read a failure.
inline const std::string ranks_left = "left", launchers_heard = "heard";
/// Waits until the counter is at `many`, but no longer than `patience`, in the process that serves the store.
void wait_for_count(c10d::Store& store, const std::string& what, int many, Timeouts::Span patience);

}  // namespace flowtrain
