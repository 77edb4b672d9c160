#pragma once
// How the ranks of a job find each other: a store that all can reach (TCPStore or FileStore of c10d), and on top of it
// the process group.

#include <filesystem>
#include <memory>
#include <string>

#include "pipeline/base/launch/rank_info.h"
#include "stages/core/group.h"

namespace flowtrain {

class Settings;

/// The run that ranks train, as later starts of the job find it.
struct SharedRun {
  std::filesystem::path folder;
  std::string identity;  ///< tells it from another run that lies there later
};

/// The store, as the process that starts the ranks of a node has it; it outlives them.
class LauncherStore {
 public:
  /// Without a plan.url: serves a store on a free port of this machine's loopback. Else joins the one at that URL, and
  /// serves it on the first node. Throws UserError(distributed) with the system's reason.
  LauncherStore(const SpawnPlan& plan, const Settings& dist);
  /// Gives other nodes some seconds to read the store that this one serves.
  ~LauncherStore();

  /// For the ranks.
  const std::string& url() const { return url_; }
  /// All ranks start, for the `restart`th time (from 0).
  void begin(int restart);
  /// Tells the ranks on all nodes how one of ours ended.
  void tell_death(int rank, const std::string& how);
  /// The failure that ended the job, as some rank on any node reported it; empty if none did. Returns at once.
  std::string failure() const;
  /// The run's folder, as rank 0 has it; empty where it has none yet, or the store does not answer.
  std::string run_folder() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  SpawnPlan plan_;
  std::string url_;
  bool failed_ = false;
};

/// What carries tensors between processes that compute on `device` ("cpu", "cuda:N"), as dist.backend says: "nccl" or
/// "gloo". "auto" is nccl between GPUs, where this build has it. Looks at no GPU. Throws UserError(usage) for nccl
/// where it cannot be.
std::string choose_backend(const Settings& dist, const std::string& device);

/// A rank's membership in its job.
class GroupSession {
 public:
  /// Joins as `place` says, with the settings of [dist], to compute on `device` ("cpu", "cuda:N"); waits until all are
  /// there. Throws UserError: usage where dist.backend or the GPU cannot be had, else distributed.
  /// From then on this process does not outlive the job: it ends with exit code 6 where another rank has failed, or the
  /// store does not answer, and it has not ended by itself soon after.
  GroupSession(const RankInfo& place, const Settings& dist, const std::string& device);
  ~GroupSession();
  GroupSession(const GroupSession&) = delete;
  GroupSession& operator=(const GroupSession&) = delete;

  Group& group();

  /// What is to be said about the error that this rank ends with, with exit code `code`. A rank that failed by itself
  /// says so, and tells the others; one that only lost them (`lost`) names who failed first and what that one did last,
  /// once it is known. Empty: another rank says it. `hint` goes in and out: that of the failure that is said.
  std::string explain(const std::string& message, std::string& hint, bool lost, int code);

  /// Remembers the run for later starts of the job by the same launcher, which go on in it.
  void remember_run(const SharedRun& run);
  /// The run of an earlier start; its folder is empty where there was none, or it had not come so far, or its store is
  /// gone.
  SharedRun remembered_run();

  /// The rank's last collectives, as collectives-rank<R>.jsonl.
  void write_collective_log(const std::filesystem::path& folder) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool has_failed_ = false;
};

}  // namespace flowtrain
