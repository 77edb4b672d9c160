#pragma once
// The rendezvous of a job's ranks: a store that all can reach (TCPStore or FileStore of c10d), and the process group on
// it.

#include <filesystem>
#include <memory>
#include <string>

#include "pipeline/base/launch/rank_info.h"
#include "stages/core/group.h"

namespace flowtrain {

class Settings;

/// The run that ranks train, for later starts of the job.
struct SharedRun {
  std::filesystem::path folder;
  std::string identity;  ///< distinguishes it from a later run in the same folder
};

/// The store of the process that starts the ranks of a node; it outlives them.
class LauncherStore {
 public:
  /// Serves a store on a free port of this machine's loopback without plan.url. Otherwise it joins the one at that URL,
  /// and serves it on the first node. Throws UserError(distributed) with the system's reason.
  LauncherStore(const SpawnPlan& plan, const Settings& dist);
  /// Gives other nodes some seconds to read the store if this process serves it.
  ~LauncherStore();

  /// Returns the URL for the ranks.
  const std::string& url() const { return url_; }
  /// Begins the `restart`th start of all ranks (from 0).
  void begin(int restart);
  /// Tells the ranks on all nodes how one of ours ended.
  void report_death(int rank, const std::string& how);
  /// Returns the failure that ended the job, as some rank on any node reported it; empty if none did.
  std::string failure() const;
  /// Returns the run's folder from rank 0; empty if it has none yet, or the store does not answer.
  std::string run_folder() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  SpawnPlan plan_;
  std::string url_;
  bool failed_ = false;
};

/// Returns the backend for tensors of processes that compute on `device` ("cpu", "cuda:N"), by dist.backend: "nccl" or
/// "gloo". "auto" is nccl between GPUs, if this build has it. Throws UserError(usage) if nccl is impossible.
std::string choose_backend(const Settings& dist, const std::string& device);

/// A rank's membership in its job.
class GroupSession {
 public:
  /// Joins the group as `place` says, with the settings of [dist], to compute on `device` ("cpu", "cuda:N"); waits
  /// until all are there. Throws UserError: usage if dist.backend or the GPU is unavailable, otherwise distributed.
  /// From then on this process does not outlive the job: if another rank has failed, or the store does not answer, and
  /// this process has not ended by itself soon after, it ends with exit code 6.
  GroupSession(const RankInfo& place, const Settings& dist, const std::string& device);
  ~GroupSession();
  GroupSession(const GroupSession&) = delete;
  GroupSession& operator=(const GroupSession&) = delete;

  Group& group();

  /// Returns the message for the error that ends this rank with exit code `code`. A rank that failed by itself returns
  /// its own, and informs the others; a rank that only lost them (`lost`) names the first failure and that rank's last
  /// action, once known. It is empty if another rank shows it. `hint` goes in and out: it belongs to the shown failure.
  std::string explain(const std::string& message, std::string& hint, bool lost, int code);

  /// Stores the run for later starts of the job by the same launcher, which continue it.
  void remember_run(const SharedRun& run);
  /// Returns the run of an earlier start; its folder is empty if there was none, or its store is gone.
  SharedRun remembered_run();

  /// Writes the rank's last collectives to collectives-rank<R>.jsonl.
  void write_collective_log(const std::filesystem::path& folder) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool has_failed_ = false;
};

}  // namespace flowtrain
